"""Ends the child processes that an environment has started, and no others, which may belong to the user's program."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psutil

PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37
_left = threading.Event()
PATIENCE = 5.0  # s for killed processes to be gone
HELPERS = (
    ("multiprocessing.resource_tracker", "_resource_tracker", "_pid"),
    ("multiprocessing.forkserver", "_forkserver", "_forkserver_pid"),
)
"""Where Python stores the PIDs of its helper processes, which serve this whole process and end with it."""


def leave_to_parent() -> None:
    """End no processes here, because the parent ends this process together with its children."""
    _left.set()


class StartedProcesses:
    """The processes that start in a `with` block, which is entered once; `end` kills them with their descendants.

    If this process has other threads or children, only processes count that were started by the block's thread, or by
    a thread that began in the block. This is known only on Linux; elsewhere none count.
    """

    def __init__(self) -> None:
        self._found: set[psutil.Process] = set()
        self._alone = False
        self._before: dict[psutil.Process, int] = {}
        self._threads: set[int] = set()

    @property
    def alone(self) -> bool:
        """Whether this process had one thread and no children at the start of the block, so that all new ones count."""
        return self._alone

    def __enter__(self) -> Self:
        self._before, self._threads = _children(), _threads()
        self._alone = not self._before and threading.active_count() == 1
        return self

    def __exit__(self, *_: object) -> None:
        self.note()

    def note(self) -> bool:
        """Find the processes that were started so far; return whether there are new ones."""
        ours, known = threading.get_native_id(), len(self._found)
        for process, thread in _children().items():
            started_here = thread == ours or (thread and thread not in self._threads)
            if process not in self._before and (self._alone or started_here):
                self._found.add(process)
        return len(self._found) > known

    def end(self) -> None:
        """Kill and reap the processes and their descendants."""
        if _left.is_set():
            return
        helpers = _helpers()
        killed = {process for child in self._found for process in _tree(child) if process.pid not in helpers}
        for process in killed:
            _kill(process)
        psutil.wait_procs(killed, PATIENCE)


@contextmanager
def ending_processes() -> Iterator[None]:
    """End the processes that start in the block when it ends; see `StartedProcesses`.

    If this process has neither other threads nor children, this includes daemons, whose parents have ended. Otherwise
    they could not be distinguished from those of other threads.
    """
    with StartedProcesses() as started, _adopting_orphans(wanted=started.alone):
        try:
            yield
        finally:
            limit = time.monotonic() + PATIENCE
            while started.note() and time.monotonic() < limit:  # killed processes may leave orphans
                started.end()


@contextmanager
def _adopting_orphans(*, wanted: bool) -> Iterator[None]:
    """Make orphaned descendants children of this process; on Linux only."""
    before = ctypes.c_int()
    if not wanted or sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, before.value)


def _children() -> dict[psutil.Process, int]:
    if sys.platform != "linux":
        return dict.fromkeys(psutil.Process().children(), 0)
    found = {}
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has ended
            for pid in (task / "children").read_text().split():
                with suppress(psutil.NoSuchProcess):
                    found[psutil.Process(int(pid))] = int(task.name)
    return found


def _threads() -> set[int]:
    return {thread.id for thread in psutil.Process().threads()}


def _helpers() -> set[int]:
    modules: list[tuple[Any, str]] = [
        (getattr(sys.modules[module], holder, None), number)
        for module, holder, number in HELPERS
        if module in sys.modules
    ]
    return {getattr(holder, number, None) or 0 for holder, number in modules}


def _tree(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []


def _kill(process: psutil.Process) -> None:
    """Kill a process, with its process group if it leads one."""
    with suppress(psutil.NoSuchProcess, ProcessLookupError, PermissionError):
        if process.is_running() and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
