"""A buffer in shared memory: other processes map it, and it is removed with its owner."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from pac.backends import BACKENDS, make
from pac.backends.core.layout import Layout
from pac.backends.system.segment import Segment, remove_stale
from pac.envs import find

from ..programs import python, talking

SPECS = {"threads": "drmario", "device": "drmario"}
READER = """
import sys, zlib
from pathlib import Path
from pac.backends.core.layout import Layout
from pac.backends.system.segment import Segment
from pac.envs import find
spec, path = sys.argv[1:]
buffer = Layout(find(spec), 3, 4).map(Segment.attach(Path(path)).map)
print({name: zlib.crc32(array.tobytes()) for name, array in buffer.items()})
"""
OWNER = """
import sys
from pac.backends import make
envs = make(sys.argv[1], 3, sys.argv[2], slots=4, workers=1, segment=True, strict=True)
envs.start()
print(envs.segment.path, flush=True)
sys.stdin.read()
"""


@pytest.mark.session
@pytest.mark.parametrize("backend", BACKENDS)
def test_another_process_reads_the_same_bytes(backend):
    """Every field of a mapped buffer equals the owner's, after steps."""
    spec = SPECS.get(backend, "noop")
    with closing(make(spec, 3, backend, slots=4, workers=1, segment=True, strict=True)) as envs:
        envs.start()
        for slot in range(3):
            if envs.task.masked:
                legal = np.unpackbits(envs.buffer["action_mask"][slot], axis=1, bitorder="little")
                envs.buffer["action"][slot] = legal.argmax(axis=1)
            envs.advance(slot)
        assert envs.segment is not None
        found = python("-c", READER, spec, envs.segment.path, check=True).stdout
        assert found.strip() == str({name: crc32(array.tobytes()) for name, array in envs.buffer.items()})


@pytest.mark.session
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_killed_owner_leaves_no_segment(backend):
    """After kill -9 the next start removes the segment."""
    with talking("-c", OWNER, SPECS.get(backend, "noop"), backend) as owner:
        assert owner.stdout is not None
        path = Path(owner.stdout.readline().strip())
        assert path.is_file()
        owner.kill()
    remove_stale()
    assert not path.exists()


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
