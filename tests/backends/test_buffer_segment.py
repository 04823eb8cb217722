"""A buffer in shared memory: other processes map it, and it is removed with its owner."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

from pac.backends import BACKENDS, make
from pac.backends.core.layout import Layout
from pac.backends.system.segment import Segment, remove_stale
from pac.envs import find

from ..programs import python, talking

SPECS = [(name, "kuhn" if name in {"threads", "device"} else "noop") for name in BACKENDS]
READER = """
import sys, zlib
from pathlib import Path
from pac.backends.core.layout import Layout
from pac.backends.system.segment import Segment
from pac.envs import find
for spec, path in zip(sys.argv[1::2], sys.argv[2::2]):
    buffer = Layout(find(spec), 3, 4).map(Segment.attach(Path(path)).map)
    print({name: zlib.crc32(array.tobytes()) for name, array in buffer.items()})
"""
OWNER = f"""
import sys
from pac.backends import make
made = [make(spec, 3, name, slots=4, workers=1, segment=True, strict=True) for name, spec in {SPECS}]
for envs in made:
    envs.start()
print(*(envs.segment.path for envs in made), flush=True)
sys.stdin.read()
"""


@pytest.mark.session
def test_another_process_reads_the_same_bytes():
    """Every field of a mapped buffer equals the owner's, after steps, on every backend."""
    with ExitStack() as stack:
        arguments: list[str | Path] = []
        expected = []
        for name, spec in SPECS:
            envs = make(spec, 3, name, slots=4, workers=1, segment=True, strict=True)
            stack.enter_context(closing(envs))
            envs.start()
            for slot in range(3):
                envs.buffer["action"][slot] = envs.action_masks().argmax(axis=-1)
                envs.advance(slot)
            assert envs.segment is not None
            arguments += [spec, envs.segment.path]
            expected.append(str({field: crc32(array.tobytes()) for field, array in envs.buffer.items()}))
        assert python("-c", READER, *arguments, check=True).stdout.splitlines() == expected


@pytest.mark.session
def test_a_killed_owner_leaves_no_segment():
    """After kill -9 the next start removes the segments of all backends."""
    with talking("-c", OWNER) as owner:
        assert owner.stdout is not None
        paths = [Path(word) for word in owner.stdout.readline().split()]
        assert len(paths) == len(BACKENDS)
        assert all(path.is_file() for path in paths)
        owner.kill()
    remove_stale()
    assert not any(path.exists() for path in paths)


def test_a_segment_is_removed_on_close():
    """The name is gone, and the owner's arrays remain readable."""
    envs = make("noop", 2, "inline", segment=True)
    assert envs.segment is not None
    path = envs.segment.path
    assert Layout(find("noop"), 2).map(Segment.attach(path).map)["episode"].tolist() == [[-1, -1]]
    envs.close()
    assert not path.exists()
    assert envs.buffer["episode"].tolist() == [[-1, -1]]


def test_a_backend_that_cannot_start_leaves_no_segment():
    """An environment that cannot be made is an error, and the fixture finds no files."""
    with pytest.raises(ModuleNotFoundError):
        make(replace(find("noop"), factory="nowhere:nothing"), 2, "inline", segment=True)


def test_memory_is_private_unless_asked_for():
    """Only `shm` needs a segment."""
    with closing(make("noop", 2, "inline")) as envs:
        assert envs.segment is None
