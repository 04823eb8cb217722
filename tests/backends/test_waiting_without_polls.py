"""Where another thread learns, a wait for workers must not hold the interpreter's lock."""

import os
from contextlib import closing

import pytest

from pac.backends import make
from pac.envs import find

pytestmark = pytest.mark.session


@pytest.mark.parametrize("backend", ["shm", "socket"])
def test_a_buffer_of_two_rollouts_is_awaited_without_polls(backend, monkeypatch):
    """This process blocks at once; it never yields in a loop of Python."""
    yields: list[None] = []
    monkeypatch.setattr(os, "sched_yield", lambda: yields.append(None))
    with closing(make(find("noop"), 2, backend, strict=True, slots=10, rollouts=2, workers=1)) as envs:
        envs.start()
        for _ in range(3):
            for _ in range(4):
                envs.advance(envs.order.newest)
            envs.carry()
    assert yields == []
