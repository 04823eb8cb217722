"""Ends the process of a session that was asked to stop and does not respond.

The training thread may be blocked where no exception reaches it: in a read that never returns, or in an environment's
own code. So a separate thread receives the signals, and checks for progress once the session is to stop. Native code
that never releases the GIL blocks this thread, too. Against that there is a timer of `faulthandler`, which does not
need the GIL. It is set while the session is to stop, and while there is no viewer. A session with a viewer, or a
headless one, that is blocked like this can be ended only with SIGKILL.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import socket
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from ...backends.system.segment import remove_directory
from ...envs import PacError
from ..config import Config
from ..exits import FAILED, INTERRUPTED
from ..telemetry.records import Level
from .checkpoint_manager import CheckpointManager
from .services import Services

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PERIOD = 0.5  # s between two checks for progress
MARGIN = 5.0
"""Seconds that the end of a session takes at most, and that a check may be late, if `stop_timeout` is less."""
REPEAT_SECONDS = 1.0
"""Signals within so many seconds after the first are the same request: schedulers send one to all processes."""
BUSY_FACTOR = 10
"""The time limit is so many times longer while the training thread computes or a checkpoint is being written."""
STANDARD_LIBRARY = (f"{sysconfig.get_path('stdlib')}{os.sep}", "<frozen")
BUSY_SHARE = 0.2
"""The training thread counts as computing if it runs, or waits for a core, for at least this share of the time."""


class NotResponding(PacError):
    """A session was asked to stop, made no progress within its time limit, and was ended."""

    title = "Session did not respond"


class ForcedExit(PacError):
    """A session was ended by a second signal, before it had stopped."""

    title = "Ended at once"


class Watchdog:
    """The thread that receives a session's signals, and ends the process if the session does not stop.

    Progress is a step or a phase of the training, a new message, a worker's step, or bytes of a checkpoint. A session
    without any for `stop_timeout` is ended, one whose training thread computes or whose checkpoint is being written
    after ten times as long. A second signal ends it at once.

    The session runs in this process's main thread. What the watchdog reads of it are single values. It writes only once
    that thread does not respond: then it calls `keep` with the error that the process ends with and the exit code, and
    `answer` with that error as data, for the process that started the session.
    """

    def __init__(
        self,
        config: Config,
        services: Services,
        checkpoints: CheckpointManager,
        keep: Callable[[PacError, int], PacError],
        answer: Callable[[Mapping[str, Any]], object],
    ) -> None:
        self._config, self._services, self._checkpoints = config, services, checkpoints
        self._keep, self._answer = keep, answer
        self._received, self._signals = socket.socketpair()
        self._signals.setblocking(False)
        self._busy_clock = _busy_clock(threading.main_thread())
        self._process = psutil.Process()
        self._asked: float | None = None
        self._code: int | None = None
        self._marker: tuple[Any, ...] = ()
        self._progress = self._busy = 0.0
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Receive the signals from now on; call this in the main thread."""
        for number in SIGNALS:
            signal.signal(number, _ignore)
        signal.set_wakeup_fd(self._signals.fileno(), warn_on_full_buffer=False)
        self._thread.start()

    def finished(self, code: int) -> None:
        """Note that the session has ended: the rest of the process has a time limit, too, and ends with this code."""
        self._code = code

    def _run(self) -> None:
        while True:
            if select.select([self._received], [], [], PERIOD)[0]:
                for number in self._received.recv(4096):
                    if number in SIGNALS:
                        self._handle(signal.Signals(number))
            self._check_progress()

    def _handle(self, number: signal.Signals) -> None:
        now = time.monotonic()
        if self._asked is None:
            self._asked = now
            self._set_timer((BUSY_FACTOR + 1) * self._config.stop_timeout)
            self._services.stop()
        elif now - self._asked > REPEAT_SECONDS:
            text = f"a second signal ({number.name}) ended the session at once; unsaved progress is lost"
            self._end(ForcedExit(text), INTERRUPTED)

    def _check_progress(self) -> None:
        """End the process if the session is to stop and makes no progress."""
        timeout = self._config.stop_timeout
        limit = BUSY_FACTOR * timeout
        if not self._services.ending:
            self._set_timer(self._services.viewers.remaining + limit)
            return
        marker, now, busy = self._progress_marker(), time.monotonic(), self._busy_clock()
        if marker != self._marker:
            self._marker, self._progress, self._busy = marker, now, busy
        silent = now - self._progress
        if busy - self._busy < BUSY_SHARE * silent and not self._checkpoints.saving:
            limit = self._waiting_limit()
        self._set_timer(limit - silent + max(timeout, MARGIN))
        if silent > limit:
            text = (
                f"the session was asked to stop and made no progress for {silent:.0f} s; its main thread is {_where()}"
            )
            self._end(NotResponding(text), FAILED)

    def _waiting_limit(self) -> float:
        """Return for how many seconds a waiting session may make no progress: at least as long as its workers may."""
        config, table = self._config, self._services.writer.array("processes")
        elsewhere = (table["role"] != b"") & (table["pid"] != os.getpid())
        return max(config.stop_timeout, 2 * config.hang_timeout if elsewhere.any() else 0.0)

    def _progress_marker(self) -> tuple[Any, ...]:
        """Return values of which at least one changes if there is progress."""
        services, state = self._services, self._services.state
        done = int(services.writer.array("processes")["count"].sum()), services.counter.counts.steps
        written = _written(self._process) if self._checkpoints.saving else 0
        return (state.phase, state.message, repr(state.progress), services.timer.last, *done, written, self._code)

    @staticmethod
    def _set_timer(seconds: float) -> None:
        """End the process in so many seconds unless this is called again, even if no Python code can run then."""
        if seconds < threading.TIMEOUT_MAX:
            faulthandler.dump_traceback_later(max(seconds, PERIOD), exit=True, file=2)
        else:
            faulthandler.cancel_dump_traceback_later()

    def _end(self, error: PacError, code: int) -> None:
        """Save what can be saved without the training thread, remove what the session would leave behind, and exit."""
        self._set_timer(max(self._config.stop_timeout, MARGIN))
        faulthandler.dump_traceback(file=2, all_threads=True)
        if self._code is None:
            error = self._keep(error, code)
        else:
            text = "the session has ended, but a thread that it did not start is still running"
            self._services.events.add(Level.WARNING, text)
        with suppress(psutil.Error):
            self._end_children()
        remove_directory(self._services.directory)
        if self._code is None:
            self._answer({"title": error.title, "error": str(error), "code": code})
        os._exit(code if self._code is None else self._code)

    def _end_children(self) -> None:
        """Kill the workers and all processes that environments have started."""
        for child in self._process.children(recursive=True):
            with suppress(psutil.Error):
                child.kill()


def _ignore(*_: object) -> None:
    """Ignore a signal: the watchdog gets it through its file descriptor."""


def _where() -> str:
    """Return in which function the main thread is, not counting those of the standard library."""
    frame: FrameType | None = sys._current_frames()[threading.main_thread().ident or 0]  # noqa: SLF001 - as documented
    while frame is not None and frame.f_code.co_filename.startswith(STANDARD_LIBRARY) and frame.f_back is not None:
        frame = frame.f_back
    return f"in {frame.f_code.co_qualname}, {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def _busy_clock(thread: threading.Thread) -> Callable[[], float]:
    """Return a function that returns for how many seconds a thread has run or waited for a core.

    If the system does not provide that, it is the CPU time of the thread, or else of this process.
    """
    if sys.platform == "linux" and thread.ident is not None:
        computed_and_waited = Path(f"/proc/self/task/{thread.native_id}/schedstat")  # ns, and a count
        if computed_and_waited.exists():
            return lambda: sum(map(int, computed_and_waited.read_text().split()[:2])) / 1e9
        clock = time.pthread_getcpuclockid(thread.ident)
        return lambda: time.clock_gettime(clock)
    return time.process_time


def _written(process: psutil.Process) -> int:
    """Return how many bytes a process has written to files so far; 0 if the system does not provide that."""
    return int(process.io_counters().write_chars) if sys.platform == "linux" else 0
