"""Fences order accesses to shared memory; what they cost must not include waiting for anybody."""

import pytest

from pac.backends import futex


@pytest.mark.parametrize("fence", [futex._light_fence, futex._full_fence])
def test_a_fence_never_blocks(fence):
    """Not even where an exception left the shared lock taken."""
    with futex._lock:
        fence()
    fence()
    assert not futex._lock.locked()
