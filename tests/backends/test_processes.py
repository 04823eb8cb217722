"""The processes and files of a fleet: nothing outlives its owner, and other users have no access."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from pac.backends import BACKENDS, make, usable_cores
from pac.backends.system.cores import own_cores
from pac.backends.system.segment import own_directory, remove_stale, runtime_directory
from pac.envs import Task

from ..programs import python, talking
from ..waiting import until

pytestmark = pytest.mark.session

PROCESSES = ("shm", "socket", "http")
PARENT = """
import sys
sys.path.append({here!r})
from pac.backends import make
from pac.envs import find
envs = make({spec!r}, 2, {backend!r}, workers=2)
envs.start()
envs.send(0)
print(*(worker.pid for worker in envs.workers), flush=True)
sys.stdin.read()
"""


def parent_of_two(spec: str, backend: str) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a process with two workers in the middle of a step; return it and their ids."""
    code = PARENT.format(here=str(Path(__file__).parent), spec=spec, backend=backend)
    parent = talking("-c", code)
    assert parent.stdout is not None
    return parent, [int(word) for word in parent.stdout.readline().split()]


@pytest.mark.parametrize("backend", PROCESSES)
@pytest.mark.parametrize("spec", ["CartPole-v1", "faulty:Fragile:how=hang,at=0"])
def test_no_worker_outlives_a_killed_parent(alive, spec, backend):
    """After kill -9 of the session its workers end, hanging ones too, and the next start removes its directory."""
    parent, pids = parent_of_two(spec, backend)
    assert all(alive(pid) for pid in pids)
    parent.kill()
    parent.communicate()
    until(lambda: not any(alive(pid) for pid in pids))
    left = [path for path in runtime_directory().iterdir() if path.name.startswith(f"{parent.pid}-")]
    assert len(left) == 1
    assert remove_stale() == left
    assert not left[0].exists()


@pytest.mark.parametrize("backend", PROCESSES)
def test_a_session_that_ends_without_closing_leaves_nothing(alive, backend):
    """A parent that returns without close() leaves neither processes nor files."""
    parent, pids = parent_of_two("CartPole-v1", backend)
    parent.communicate("")
    assert parent.returncode == 0
    until(lambda: not any(alive(pid) for pid in pids))
    assert not [path for path in runtime_directory().iterdir() if path.name.startswith(f"{parent.pid}-")]


@pytest.mark.parametrize("backend", PROCESSES)
def test_workers_ignore_ctrl_c(toy, backend):
    """A worker ignores SIGINT, and is out of the terminal's reach in a session of its own."""
    with closing(make(toy("Counter"), 1, backend)) as envs:
        pid = envs.workers[0].pid
        os.kill(pid, signal.SIGINT)
        envs.start()
        envs.advance(0)
        assert envs.workers[0].pid == pid
        assert os.getsid(pid) == pid != os.getsid(0)


@pytest.mark.parametrize("backend", PROCESSES)
def test_other_users_have_no_access(toy, backend):
    """Directories are 0700 and files 0600."""
    with closing(make(toy("Counter"), 1, backend)):
        assert stat.S_IMODE(own_directory().stat().st_mode) == 0o700
        files = list(own_directory().iterdir())
        assert len(files) >= 2
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Mount a file system of 1 MiB and have the runtime directory there."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", tmp_path]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    monkeypatch.setenv("PAC_RUNTIME_DIR", str(tmp_path))
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def output_of(code: str) -> str:
    """Return what a process that runs `code` says on stderr."""
    result = python("-c", code)
    assert "SIGBUS" not in result.stderr
    assert result.returncode in {0, 1}
    return result.stderr


def test_shared_memory_that_is_too_small(small):
    """Where the buffer does not fit the next backend down the ladder is taken; `strict` makes it an error."""
    code = "from pac.backends import make; make('drmario', 64, 'shm', slots=129, strict={})"
    reason = f"of shared memory are needed and {small} has"
    error = output_of(code.format(True))
    assert "BackendUnavailable: the shm backend cannot run drmario here" in error
    assert reason in error
    warning = output_of(code.format(False))
    assert f"using {BACKENDS['shm'][1]}" in warning
    assert reason in warning
    assert "Error" not in warning
    assert not list((small / f"pac-{os.getuid()}").iterdir())


def test_more_connections_than_allowed_open_files():
    """Servers need a connection per environment; where the system allows too few, the next backend is taken."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300)); from pac.backends import make; "
    warning = output_of(f"{limited}assert make('noop', 100, 'socket').name == 'inline'")
    assert "socket cannot run noop here (it needs 356 open files, the limit is 300" in warning
    assert "Error" not in warning


def test_a_segment_that_does_not_fit(small):
    """It is refused with a sentence, before the first write and not with SIGBUS."""
    error = output_of("from pac.backends.system.segment import Segment; Segment.create('large', 1 << 21)")
    assert "SharedMemoryFull: 2.0 MiB of shared memory are needed" in error
    assert f"{small} has" in error


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("pac.backends", ("torch", "numba", "gymnasium")),
        ("pac.backends.workers.serve", ("torch", "numba", "gymnasium")),
    ],
)
def test_imports_stay_light(module, absent):
    """Importing the backends, or what a worker runs, loads no library that is not needed yet."""
    code = f"import sys, {module}; sys.exit(', '.join(set({absent!r}) & set(sys.modules)) or None)"
    result = python("-c", code)
    assert result.returncode == 0, result.stderr


def cores_of(toy: Callable[..., Task], environments: int, workers: int) -> list[set[int]]:
    """Where the workers of a backend may run, after some steps."""
    with closing(make(toy("Counter"), environments, "shm", workers=workers, slots=3)) as envs:
        envs.start()
        for slot in range(2):
            envs.advance(slot)
        return [os.sched_getaffinity(worker.pid) for worker in envs.workers]


@pytest.mark.skipif(not own_cores(usable_cores()), reason="the usable cores are not known here")
def test_as_many_workers_as_cores_are_pinned(toy):
    """The scheduler may leave two of them on one core for long, while the other is idle."""
    found = cores_of(toy, 2 * usable_cores(), usable_cores())
    assert sorted(found, key=min) == [{core} for core in sorted(os.sched_getaffinity(0))]


@pytest.mark.skipif(usable_cores() < 2, reason="a single core has room for one worker only")
def test_fewer_workers_than_cores_are_not_pinned(toy):
    """Others may need the cores more."""
    assert cores_of(toy, 2, usable_cores() - 1)[0] == os.sched_getaffinity(0)


def test_servers_answer_a_process_with_many_open_files():
    """Waiting for an answer does not depend on `select`, which refuses descriptors from 1,024 on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        for _ in range(1024):
            stack.callback(os.close, os.dup(0))
        envs = stack.enter_context(closing(make("CartPole-v1", 2, "socket", workers=1)))
        envs.start()
        for _ in range(50):
            envs.advance(0)
        assert envs.buffer["episode_length"].any()
