"""The process that a session runs in, and how another process starts it.

`launch` starts `python -m pac.training.session.host` in a process session of its own. The configuration goes to its
stdin. It writes two lines of JSON to stdout: the session's directory (or why it could not start), and at the end the
report (or the error). Everything else that it prints goes to the run's `session.log`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...backends.core.errors import ending
from ...backends.system.cores import share_cores
from ...backends.system.segment import remove_directories
from ...envs import BadParameter, PacError
from ...envs.apart import MAKING_LIMIT, kill_orphans
from ...envs.entries import FolderEntry
from ...envs.openmp import WAITING
from ...envs.titles import Titled, set_title
from ..config import Config
from ..exits import BAD_USAGE, FAILED, INTERRUPTED
from ..imports import importing
from ..runs.folder import LOG
from ..runs.metadata import RunFolderError
from ..torchrun import local_rank, started_by_torchrun

if TYPE_CHECKING:
    from .session import Session


END_LIMIT, PATIENCE = 5.0, 3.0
"""Seconds for the end of a session that is not ready, and those after which it does not wait for its main thread."""
STOPPED = {"title": "Interrupted", "error": "interrupted before the session was ready", "code": INTERRUPTED}
USUAL = 3.0
"""Seconds that making an environment may take without a word."""
DOES = "does"
"""The key of the lines that say what a session does before it is ready."""


class SessionFailed(PacError):
    """A session ended with an error.

    Attributes:
        code: The exit code: 2 for invalid usage, else 1.
    """

    title = "Session failed"

    def __init__(self, title: str, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.title = title
        self.code = code


class Starting:
    """A session that `launch` starts, for other threads and for handlers of signals.

    Attributes:
        text: What it does.
    """

    def __init__(self, on_text: Callable[[str], object] = lambda _text: None) -> None:
        self.text = ""
        self._on_text = on_text
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def begun(self, process: subprocess.Popen[bytes]) -> None:
        """Note which process the session is started in."""
        self._process = process
        if self._stopped:
            process.terminate()

    def does(self, text: str) -> None:
        """Note what the session does."""
        self.text = text
        self._on_text(text)

    @property
    def alive(self) -> bool:
        """Whether its process is running."""
        return self._process is not None and self._process.returncode is None

    def terminate(self) -> None:
        """Give up the start: the process ends with all that it has started."""
        self._stopped = True
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """End the process at once."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()


class RunningSession(Protocol):
    """A session that this process started."""

    directory: Path
    pid: int

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""

    def report(self) -> dict[str, Any]:
        """Wait for the end; return the report or raise `SessionFailed`."""

    def terminate(self) -> None:
        """Request that it saves and ends."""

    def kill(self) -> None:
        """End it at once, without saving."""


class SessionProcess:
    """A session in its own process.

    Attributes:
        directory: Where its telemetry and socket are.
        pid: The process id.
        reported: Whether the session reported how it ended, before its process ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], directory: Path) -> None:
        self._process = process
        self.reported = False
        self._answer: dict[str, Any] | None = None
        self.directory = directory
        self.pid = process.pid

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._process.poll()

    def report(self) -> dict[str, Any]:
        """Wait for the end and return the report.

        Raises:
            SessionFailed: It ended with an error.
        """
        if self._answer is None:
            self._answer = self._last_answer()
        return _checked(self._answer)

    def _last_answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            line = pipe.readline()
        code = self._process.wait()
        if line:
            self.reported = True
            return dict(json.loads(line))
        from ..runs.last_telemetry import remove_dead_sessions

        remove_dead_sessions()
        kill_orphans()
        text = f"the session's process ended without a report ({ending(code)}); its output is in session.log of the run"
        return {"title": "Session died", "error": text, "code": FAILED}

    def terminate(self) -> None:
        """Request that it saves and ends."""
        self._process.terminate()

    def kill(self) -> None:
        """End it and its workers at once, without saving."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def launch(
    config: Config, *, headless: bool = False, measures: bool = False, starting: Starting | None = None
) -> SessionProcess:
    """Start a session in its own process; returns when viewers can connect, before PyTorch is loaded.

    Args:
        config: What to run.
        headless: Whether it may run without a viewer.
        measures: Whether the baseline is remembered, or measured while the training waits.
        starting: Gets what the session does meanwhile, and can end it.

    Raises:
        SessionFailed: It could not start, or was ended meanwhile.
    """
    starting = starting or Starting()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "pac.training.session.host"],  # -P: no modules of the working directory
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    starting.begun(process)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    request = {"headless": headless, "measures": measures, **config.model_dump(mode="json")}
    try:
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(json.dumps(request).encode())
        answer = _first_answer(process, starting)
    except BaseException as error:
        if not isinstance(error, SessionFailed):  # a session that refuses ends by itself and cleans up
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_LIMIT)
            process.kill()
        process.wait()
        process.stdout.close()
        raise
    finally:
        process.stderr.close()
    return SessionProcess(process, Path(answer["directory"]))


def _first_answer(process: subprocess.Popen[bytes], starting: Starting) -> dict[str, Any]:
    """Return the first line that a session's process writes, after those that say what it does."""
    assert process.stdout is not None
    assert process.stderr is not None
    for line in process.stdout:
        answer = json.loads(line)
        if DOES not in answer:
            return _checked(answer)
        starting.does(answer[DOES])
    text = process.stderr.read().decode(errors="replace").strip()
    raise SessionFailed("Session died", f"the session's process ended before it was ready:\n{text[-2000:]}")


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise SessionFailed(answer["title"], answer["error"], answer["code"])
    return answer


class SessionThread:
    """A session in a thread of this process, for use with a debugger.

    Attributes:
        directory: Where its telemetry and socket are.
        pid: This process.
    """

    def __init__(self, config: Config, *, measures: bool = False) -> None:
        self._session, self._close = _open(config, headless=False, measures=measures)
        self.directory = self._session.directory
        self.pid = os.getpid()
        self._answer: dict[str, Any] | None = None
        self._thread = threading.Thread(target=self._run, name="training")
        self._thread.start()

    def _run(self) -> None:
        self._answer = _finish(self._session)
        self._close()

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return None if self._answer is None else int(self._answer.get("code", 0))

    def report(self) -> dict[str, Any]:
        """Wait for the end and return the report.

        Raises:
            SessionFailed: It ended with an error.
        """
        self._thread.join()
        assert self._answer is not None
        return _checked(self._answer)

    def terminate(self) -> None:
        """Request that it saves and ends."""
        self._session.stop()

    def kill(self) -> None:
        """Request the end again: a thread cannot be killed."""
        self.terminate()


def _open(config: Config, *, headless: bool, measures: bool) -> tuple[Session, Any]:
    """Return a session that accepts commands, and a function that stops accepting them."""
    from ...backends.system.segment import own_directory
    from ..runs.last_telemetry import remove_dead_sessions
    from .commands import Commands
    from .control import ControlServer
    from .session import Session

    remove_dead_sessions()
    kill_orphans()
    session = Session(config, own_directory(), headless=headless, measures=measures)
    setup, services, parts = session.setup, session.services, (session.envs, session.record, session.checkpoints)
    commands = Commands(setup, services, *parts, live=session.live, kernels=session.kernels)
    return session, ControlServer(session.directory, commands.handle, session.services.viewers).close


def _finish(session: Session) -> dict[str, Any]:
    """Run a session to its end; return the report, or the error as data."""
    try:
        return session.run()
    except BaseException as error:
        with contextlib.suppress(OSError):  # the disk may be full
            traceback.print_exc()
        return _error_as_data(error)


def _error_as_data(error: BaseException) -> dict[str, Any]:
    """Return title, text and exit code of an error, as JSON data."""
    if isinstance(error, PacError):
        code = BAD_USAGE if isinstance(error, BadParameter) else FAILED
        return {"title": error.title, "error": str(error), "code": code}
    text = "".join(traceback.format_exception_only(error)).strip()
    return {"title": "Session failed", "error": text, "code": FAILED}


def _answer(pipe: int, line: Mapping[str, Any]) -> bool:
    """Write a line for the process that started this one; return whether it still reads."""
    try:
        os.write(pipe, json.dumps(line, default=float).encode() + b"\n")
    except BrokenPipeError:
        return False
    return True


def _log_to_file(session: Session) -> None:
    """Write all that this process prints into the run's `session.log` from now on."""
    log = session.record.folder.entry(LOG) if session.record.folder else FolderEntry(session.directory, LOG)
    try:
        descriptor = log.open(os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise RunFolderError(f"{log} cannot be written: {error.strerror}; remove it or free disk space") from error
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("pac").setLevel(logging.INFO)


@contextlib.contextmanager
def _ended_by_signals(pipe: int) -> Iterator[None]:
    """Have a signal raise `KeyboardInterrupt` in the block, and end the process soon if the main thread is blocked.

    It may wait for other ranks, in code in which no exception is raised. This thread then ends the process: there is no
    run yet. It touches nothing else that the main thread uses.
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    over = threading.Event()

    def end() -> None:
        with ours:
            if ours.recv(1) and not over.wait(PATIENCE):
                _answer(pipe, STOPPED)
                remove_directories()
                os._exit(INTERRUPTED)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=end, name="start", daemon=True).start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(-1)
        theirs.close()


def main() -> int:
    """Run the session whose configuration is on stdin."""
    pipe = os.dup(1)
    os.dup2(2, 1)
    if started_by_torchrun():
        share_cores(local_rank(), int(os.environ["LOCAL_WORLD_SIZE"]))
    os.environ.setdefault(*WAITING)  # PyTorch loads OpenMP before the environments are made
    request = json.loads(sys.stdin.buffer.read())
    headless, measures = request.pop("headless"), request.pop("measures", False)
    try:
        with _ended_by_signals(pipe), importing():
            from ..loading import task_of
            from .watchdog import Watchdog

            config = Config.model_validate(request)
            making = f"making the environment {config.spec}"
            task_of(config, lambda took: took < USUAL or _answer(pipe, {DOES: f"{making}: {took:.0f} s"}))
            # The code of a task in a package runs here, in which no exception would end a wait.
            faulthandler.dump_traceback_later(max(MAKING_LIMIT, 2 * config.hang_timeout), exit=True, file=2)
            session, close = _open(config, headless=headless, measures=measures)
            faulthandler.cancel_dump_traceback_later()
            Titled.run = session.record.facts()["run"]
            set_title("session")
        _log_to_file(session)
    except KeyboardInterrupt:
        _answer(pipe, STOPPED)
        return INTERRUPTED
    except Exception as error:
        if not isinstance(error, PacError):
            traceback.print_exc()
        _answer(pipe, _error_as_data(error))
        return FAILED
    say = partial(_answer, pipe)
    watchdog = Watchdog(config, session.services, session.checkpoints, session.keep_from_watchdog, say)
    watchdog.start()
    if not say({"directory": str(session.directory)}):
        session.stop()  # the process that started it is gone
    answer = _finish(session)
    close()
    say(answer)
    code = int(answer.get("code", 0))
    watchdog.finished(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
