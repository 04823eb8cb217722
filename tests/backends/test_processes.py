"""The processes and files of a fleet: nothing outlives its owner, and what a machine lacks is said."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from pac.backends import BACKENDS, make, usable_cores
from pac.backends.system.cores import own_cores
from pac.backends.system.segment import remove_stale, runtime_directory
from pac.envs import Task
from pac.envs.apart import VARIABLE, kill_orphans, start_ticks

from ..programs import python, talking
from ..waiting import until

pytestmark = pytest.mark.session

PARENT = f"""
import sys
sys.path.append({str(Path(__file__).parent)!r})
from pac.backends import make
from pac.backends.workers import fleet
from pac.backends.workers.spares import SpareWorkers
made = [make(spec, 1, name, workers=1) for name in ("shm", "socket", "http") for spec in sys.argv[1:]]
for envs in made:
    envs.start()
    envs.send(0)
reserve = SpareWorkers("time:localtime", 2)
assert reserve.loaded(60)
pids = [worker.pid for envs in made for worker in envs.workers] + [process.pid for process, _ in fleet._spares]
print(*pids, flush=True)
sys.stdin.read()
"""


def parent_of(*specs: str) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a process with workers in the middle of a step, and two spare ones; return it and their ids."""
    parent = talking("-c", PARENT, *specs)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 3 * len(specs) + 2
    return parent, pids


def left_by(process: subprocess.Popen[str]) -> list[Path]:
    """Return the directories of a process."""
    return [path for path in runtime_directory().iterdir() if path.name.startswith(f"{process.pid}-")]


def test_no_worker_outlives_a_killed_parent(alive):
    """After kill -9 of the session its workers end, hanging ones too, and the next start removes its directory."""
    parent, pids = parent_of("CartPole-v1", "faulty:Fragile:how=hang,at=0")
    assert all(alive(pid) for pid in pids)
    parent.kill()
    parent.communicate()
    until(lambda: not any(alive(pid) for pid in pids))
    left = left_by(parent)
    assert len(left) == 1
    assert remove_stale() == left
    assert not left[0].exists()


def test_programs_of_environments_are_killed_after_their_session_was(alive, tmp_path):
    """They outlive its workers, as game engines do, and the next session ends them. Those of a living one stay."""
    (parent, pids), (living, _) = (
        parent_of(f"faulty:Parent:file={tmp_path / name}") for name in ("killed.txt", "living.txt")
    )
    left, kept = (int((tmp_path / name).read_text()) for name in ("killed.txt", "living.txt"))
    parent.kill()
    parent.communicate()
    until(lambda: not any(alive(pid) for pid in pids))
    kill_orphans()
    until(lambda: not alive(left))
    assert alive(kept)
    living.communicate("")
    until(lambda: not alive(kept))


@pytest.mark.parametrize("token", ["{namespace}-{pid}-{start}-aa", "1-999999999-1-aa", "an older version's", ""])
def test_programs_whose_session_may_be_alive_are_left_alone(alive, token):
    """Those of a living process, and of one in another container, whose numbers mean others here."""
    namespace, pid = Path("/proc/self/ns/pid").stat().st_ino, os.getpid()
    known = token.format(namespace=namespace, pid=pid, start=start_ticks(pid))
    with subprocess.Popen(["sleep", "1000"], env={**os.environ, VARIABLE: known}) as program:
        kill_orphans()
        assert alive(program.pid)
        program.kill()


def test_a_session_that_ends_without_closing_leaves_nothing(alive):
    """A parent that returns without close() leaves neither processes nor files."""
    parent, pids = parent_of("CartPole-v1")
    parent.communicate("")
    assert parent.returncode == 0
    until(lambda: not any(alive(pid) for pid in pids))
    assert not left_by(parent)


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


def test_shared_memory_that_is_too_small(small):
    """The next backend down the ladder is taken, `strict` makes it an error, and no segment ends with SIGBUS."""
    code = """
from pac.backends import make
from pac.backends.system.segment import Segment
make('drmario', 64, 'shm', slots=129)
for call in (lambda: make('drmario', 64, 'shm', slots=129, strict=True), lambda: Segment.create('large', 1 << 21)):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
"""
    result = python("-c", code)
    assert result.returncode == 0
    refusal, full = result.stdout.splitlines()
    reason = f"of shared memory are needed and {small} has"
    assert refusal.startswith("BackendUnavailable the shm backend cannot run drmario here")
    assert full.startswith(f"SharedMemoryFull 2.0 MiB {reason}")
    assert reason in refusal
    assert reason in result.stderr
    assert f"using {BACKENDS['shm'][1]}" in result.stderr
    assert not list((small / f"pac-{os.getuid()}").iterdir())


def test_more_connections_than_allowed_open_files():
    """Servers need a connection per environment; where the system allows too few, the next backend is taken."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300)); from pac.backends import make; "
    result = python("-c", f"{limited}assert make('noop', 100, 'socket').name == 'inline'")
    assert result.returncode == 0
    assert "socket cannot run noop here (it needs 356 open files, the limit is 300" in result.stderr


def test_imports_stay_light():
    """Importing the backends and what a worker runs loads no library that is not needed yet."""
    code = (
        "import sys, pac.backends, pac.backends.workers.serve; print({'torch', 'numba', 'gymnasium'} & {*sys.modules})"
    )
    assert python("-c", code).stdout == "set()\n"


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
        for _ in range(20):
            envs.advance(0)
        assert envs.buffer["episode_length"].any()
