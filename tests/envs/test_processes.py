"""What an environment starts when it is made ends with it, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from pac.envs import PacError, allocate, find
from pac.envs.processes import StartedProcesses, ending_processes

from ..programs import python
from ..waiting import until
from .parents import SLEEP

pytestmark = pytest.mark.session
PARENT = f"{__package__}.parents:Parent"
ALONE = """
import sys
from pac.envs import find
find(sys.argv[1])
"""


def started(file: Path) -> list[int]:
    """Return the numbers that environments have noted."""
    return [int(line) for line in file.read_text().split()]


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid)


@pytest.mark.parametrize("how", ["child", "fork", "thread", "session", "shell", "daemon"])
def test_looking_at_an_environment_leaves_no_process(tmp_path, how):
    """However it was started, it is gone before the process that looked goes on."""
    file = tmp_path / "pids"
    subprocess.run([sys.executable, "-c", ALONE, f"{PARENT},file='{file}',how={how}"], check=True, timeout=60)
    assert started(file)
    assert all(gone(pid) for pid in started(file))


@pytest.mark.parametrize("how", ["child", "failure"])
def test_only_what_the_environment_started_ends(tmp_path, how):
    """In a process with threads and children of its own, which start more meanwhile; also if the environment fails."""
    file, own, done = tmp_path / "pids", [subprocess.Popen(SLEEP)], threading.Event()

    def start_more() -> None:
        while not done.wait(0.01):
            own.append(subprocess.Popen(SLEEP))

    thread = threading.Thread(target=start_more)
    thread.start()
    try:
        until(lambda: len(own) > 2)
        if how == "failure":
            with pytest.raises(PacError, match="no licence found"):
                find(f"{PARENT},file='{file}',how={how}")
        else:
            find(f"{PARENT},file='{file}',how={how}")
    finally:
        done.set()
        thread.join()
    alive = [process.poll() is None for process in own]
    for process in own:
        process.kill()
        process.wait()
    assert all(alive)
    assert all(gone(pid) for pid in started(file))


def test_closing_environments_ends_what_they_started(tmp_path):
    """Those that are stepped in this process."""
    file = tmp_path / "pids"
    task = find(f"{PARENT},file='{file}'")
    looked = len(started(file))
    environments = task.make(0, 2, allocate(task, 2), 0)
    assert not any(gone(pid) for pid in started(file)[looked:])
    environments.close()
    assert len(started(file)) == looked + 2
    assert all(gone(pid) for pid in started(file))


def test_pythons_own_helpers_go_on():
    """They serve the whole process, whoever needs them first."""
    code = (
        "from multiprocessing import resource_tracker, shared_memory\n"
        "from pac.envs.processes import ending_processes\n"
        "with ending_processes():\n"
        "    memory = shared_memory.SharedMemory(create=True, size=8)\n"
        "assert resource_tracker._resource_tracker._check_alive()\n"
        "memory.close()\n"
        "memory.unlink()\n"
    )
    done = python("-W", "error", "-c", code)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_that_ended_by_itself_is_reaped():
    """No zombie stays."""
    with ending_processes():
        if not (pid := os.fork()):
            os._exit(0)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


def test_ending_twice_is_as_ending_once():
    """A number that was given to another process later is left alone."""
    with StartedProcesses() as processes:
        child = subprocess.Popen(SLEEP)
    processes.end()
    processes.end()
    assert child.wait() is not None
