"""The processes and files of a fleet: nothing outlives its owner, nobody else may look."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pac.backends import SharedMemoryFull, make
from pac.backends.segment import own_directory, remove_stale, runtime_directory

PARENT = """
import sys
sys.path.append({here!r})
from pac.backends import make
from pac.envs import find
envs = make({spec!r}, 2, "shm", workers=2)
envs.start()
envs.send(0)
print(*(worker.pid for worker in envs.workers), flush=True)
sys.stdin.read()
"""


def parent_of_two(spec: str) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a process with two workers in the middle of a step; return it and their ids."""
    code = PARENT.format(here=str(Path(__file__).parent), spec=spec)
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    return parent, [int(word) for word in parent.stdout.readline().split()]


@pytest.mark.parametrize("spec", ["CartPole-v1", "faulty:Fragile:how=hang,at=0"])
def test_no_worker_outlives_a_killed_parent(until, alive, spec):
    """After kill -9 of the session its workers end, hanging ones too, and the next start removes its directory."""
    parent, pids = parent_of_two(spec)
    assert all(alive(pid) for pid in pids)
    parent.kill()
    parent.communicate()
    until(lambda: not any(alive(pid) for pid in pids))
    left = [path for path in runtime_directory().iterdir() if path.name.startswith(f"{parent.pid}-")]
    assert len(left) == 1
    assert remove_stale() == left
    assert not left[0].exists()


def test_a_session_that_ends_without_closing_leaves_nothing(until, alive):
    """A parent that returns without close() leaves neither processes nor files."""
    parent, pids = parent_of_two("CartPole-v1")
    parent.communicate("")
    assert parent.returncode == 0
    until(lambda: not any(alive(pid) for pid in pids))
    assert not [path for path in runtime_directory().iterdir() if path.name.startswith(f"{parent.pid}-")]


def test_ctrl_c_is_the_sessions_business(toy):
    """A worker ignores SIGINT, and is out of the terminal's reach in a session of its own."""
    envs = make(toy("Counter"), 1, "shm")
    try:
        pid = envs.workers[0].pid
        os.kill(pid, signal.SIGINT)
        envs.start()
        envs.advance(0)
        assert envs.workers[0].pid == pid
        assert os.getsid(pid) == pid != os.getsid(0)
    finally:
        envs.close()


def test_only_the_owner_may_look(toy):
    """Directories are 0700 and files 0600."""
    envs = make(toy("Counter"), 1, "shm")
    try:
        assert stat.S_IMODE(own_directory().stat().st_mode) == 0o700
        files = list(own_directory().iterdir())
        assert len(files) >= 3
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    finally:
        envs.close()


def test_shared_memory_that_is_too_small():
    """More than the file system has is an error before the first write, and leaves nothing behind."""
    before = set(own_directory().iterdir())
    with pytest.raises(SharedMemoryFull, match="use fewer environments"):
        make("drmario", 10_000_000, "shm", slots=129)
    assert set(own_directory().iterdir()) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_small_file_system_is_full_without_a_crash(tmp_path):
    """On a 1 MiB tmpfs a segment of 2 MiB is refused with a sentence, not with SIGBUS."""
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", tmp_path], capture_output=True, check=False
    ).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        code = "from pac.backends import make; make('drmario', 64, 'shm', slots=33)"
        env = {**os.environ, "PAC_RUNTIME_DIR": str(tmp_path)}
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
        assert result.returncode == 1
        assert "SharedMemoryFull: " in result.stderr
        assert f"{tmp_path} has" in result.stderr
        assert not list((tmp_path / f"pac-{os.getuid()}").iterdir())
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.parametrize(
    ("module", "absent"),
    [("pac.backends", ("torch", "numba", "gymnasium")), ("pac.backends.serve", ("torch", "numba", "gymnasium"))],
)
def test_imports_stay_light(module, absent):
    """Importing the backends, or what a worker runs, loads no library that is not needed yet."""
    code = f"import sys, {module}; sys.exit(', '.join(set({absent!r}) & set(sys.modules)) or None)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
