"""The cache: what is kept, what is put aside, and what happens when it cannot be written."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy

from pac.envs.poker.cards.store import PARTIAL, UnusableFile, cache_folder, cached_arrays, opened

from ....programs import python, talking

FACTS = {"what": "numbers", "version": "1"}
MAKE = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from pac.envs.poker.cards.store import CacheNotWritable, cached_arrays
path, facts = Path(sys.argv[1]), {"what": "numbers", "version": "1"}
def make():
    return {"rows": np.arange(200_000, dtype=np.int32)}
"""


def made():
    return {"rows": np.arange(60, dtype=np.int32).reshape(12, 5), "shares": np.linspace(0, 1, 7)}


def refuse():
    pytest.fail("it was made anew")


@pytest.fixture
def path(tmp_path):
    """Return a path in a folder that is not there yet."""
    return tmp_path / "cache" / "numbers.safetensors"


def damaged(path, how):
    """Damage a file in some way."""
    body = path.read_bytes()
    flipped = bytes([body[-3] ^ 1])
    bodies = {
        "truncated": body[:-100],
        "header only": body[:6],
        "empty": b"",
        "flipped bit": body[:-3] + flipped + body[-2:],
        "foreign": b"something else altogether, and not short either",
        "long header": b"\xff" * 8 + body[8:],
        "another shape": body.replace(b"[12,5]", b"[5,12]"),
    }
    path.write_bytes(bodies[how])


def test_computed_arrays_are_cached(path):
    """The second time the arrays come from the file, equal and of the same kinds."""
    first, second = cached_arrays(path, FACTS, made), cached_arrays(path, FACTS, refuse)
    for name, array in made().items():
        for found in (first[name], second[name], opened(path)[name]):
            np.testing.assert_array_equal(found, array, strict=True)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_what_is_kept_cannot_be_changed(path):
    """The arrays are the file's own pages, and read-only."""
    found = cached_arrays(path, FACTS, made)["rows"]
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


def test_the_file_is_safetensors(path):
    """Any reader of safetensors reads the file."""
    cached_arrays(path, FACTS, made)
    np.testing.assert_array_equal(safetensors.numpy.load_file(path)["rows"], made()["rows"])


@pytest.mark.parametrize(
    "how", ["truncated", "header only", "empty", "flipped bit", "foreign", "long header", "another shape"]
)
def test_a_damaged_file_is_named_put_aside_and_made_anew(path, how, caplog):
    """A file that is not what was written is reported, kept beside, and replaced by a good one."""
    cached_arrays(path, FACTS, made)
    damaged(path, how)
    before = path.read_bytes()
    with caplog.at_level(logging.WARNING):
        found = cached_arrays(path, FACTS, made)
    np.testing.assert_array_equal(found["rows"], made()["rows"])
    assert str(path) in caplog.text
    assert path.with_name(f"{path.name}.unfit").read_bytes() == before
    cached_arrays(path, FACTS, refuse)


def test_an_older_file_is_made_anew(path, caplog):
    """A file of another version is reported, and replaced."""
    cached_arrays(path, FACTS | {"version": "0"}, made)
    cached_arrays(path, FACTS, made)
    assert "'version': '0'" in caplog.text
    cached_arrays(path, FACTS, refuse)


def test_a_file_that_cannot_be_read_at_all_is_unfit(path):
    """Opening without verifying still refuses what has no header."""
    cached_arrays(path, FACTS, made)
    damaged(path, "truncated")
    with pytest.raises(UnusableFile, match="damaged"):
        opened(path)


@pytest.mark.session
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()])
def test_what_is_no_regular_file_is_unfit(path, make):
    """Nothing waits for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    with pytest.raises(UnusableFile, match="damaged"):
        opened(path)


@pytest.mark.thorough
def test_a_full_disk_is_a_clear_error(path):
    """Where the file has no room the error says so and what to do, and no piece of it stays."""
    code = MAKE + (
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))\n"
        "try:\n    cached_arrays(path, facts, make)\nexcept CacheNotWritable as error:\n    print(error)\n"
    )
    ran = python("-c", code, path, check=True)
    assert str(path) in ran.stdout
    assert "free space" in ran.stdout
    assert "PAC_CACHE_DIR" in ran.stdout
    assert list(path.parent.iterdir()) == []


@pytest.mark.session
def test_two_processes_may_make_the_same_at_once(path):
    """Processes that find no file at the same time each end with the whole of it."""
    code = MAKE + (
        "def both():\n"
        "    print('making', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    return make()\n"
        "print(int(cached_arrays(path, facts, both)['rows'].sum()))\n"
    )
    pair = [talking("-c", code, path) for _ in range(2)]
    for process in pair:
        assert process.stdout is not None
        assert process.stdout.readline() == "making\n"
    outs = [process.communicate("\n", timeout=120)[0] for process in pair]
    assert outs == [f"{sum(range(200_000))}\n"] * 2
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.session
def test_what_a_killed_process_left_is_removed(path):
    """A piece that a dead process had begun is removed by the next one, one of a living process is not."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(timeout=120)
    path.parent.mkdir()
    left, living = (path.with_name(f"{path.name}.{pid}{PARTIAL}") for pid in (dead.pid, os.getppid()))
    for piece in (left, living):
        piece.touch()
    cached_arrays(path, FACTS, made)
    assert not left.exists()
    assert living.exists()


def test_the_folder_can_be_named(tmp_path, monkeypatch):
    """The variable PAC_CACHE_DIR names the folder; without it, it is the user's cache."""
    monkeypatch.setenv("PAC_CACHE_DIR", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("PAC_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().name == "pac-tui"
