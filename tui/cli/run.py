"""Runs a session with the app or with a progress line."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from ...envs import BadParameter, PacError
from ...envs.printable import printable
from ...training.config import Config
from ...training.exits import DONE, INTERRUPTED
from ...training.session.control import SessionClient, SessionGone
from ...training.session.host import SessionFailed, SessionProcess, Starting, launch
from ...training.telemetry.blocks import TelemetryReader
from ...training.telemetry.records import Level, Phase
from ...training.telemetry.snapshot import Snapshot, ViewRequest, take_snapshot
from ...training.torchrun import is_first_rank, started_by_torchrun
from ..session_text import Progress, progress_text, report_text
from ..terminal.modes import check_terminal
from ..terminal.output import json_text, unfiltered
from ..terminal.report_file import check_writable, write_report

if TYPE_CHECKING:
    from ...training.trace_recorder import TraceLater

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REFRESH_PERIOD = 0.1  # s
KILLED = "killed by a second interrupt; training after the last checkpoint is lost"
QUIET_PERIOD = 10.0  # s between two lines if stderr is not a terminal


def run_session(
    config: Config,
    *,
    headless: bool,
    json: bool = False,
    report: Path | None = None,
    in_process: bool = False,
    traced: TraceLater | None = None,
) -> int:
    """Run a session to its end; return the exit code.

    Raises:
        NoTerminal: There is no terminal for the app.
        SessionFailed: The session failed.
    """
    if report is not None:
        check_writable("--report", report)
    if headless:
        return run_headless(config, json=json, report=report, traced=traced)
    if json:
        raise BadParameter("--json needs --headless; with the app, use --report FILE")
    check_terminal()
    from ..starting.launch import run_app

    return run_app(config, in_process=in_process, report=report, traced=traced)


def run_headless(config: Config, *, json: bool, report: Path | None, traced: TraceLater | None = None) -> int:
    """Run a session with a progress line on stderr. The report goes to stdout and to the file `report`."""
    first = is_first_rank()
    line, answer, code = ProgressLine(silent=not first), None, DONE
    starting = Starting(line.say)
    with Interrupts(starting) as interrupts:
        try:
            session = launch(config, starting=starting)
            if traced is not None:
                traced.begin(session.directory)
            answer = follow(session, line, interrupts)
        except SessionFailed as failure:
            if failure.code != INTERRUPTED or not interrupts.count:
                raise
        finally:
            for sentence in traced.end() if traced is not None else ():
                line.event(sentence)
    if answer is None:
        error = KILLED if interrupts.count > 1 else "interrupted before the training started"
        if json:
            print(json_text({"title": "Interrupted", "error": error, "code": INTERRUPTED}))
        else:
            print(error, file=sys.stderr)
    elif first:
        print(json_text(answer) if json else report_text(answer))
        if report is not None:
            code = write_report(report, answer)
    return INTERRUPTED if interrupts.count else code


def follow(session: SessionProcess, line: ProgressLine, interrupts: Interrupts) -> dict[str, Any] | None:
    """Show a session's progress until it ends; return its report, None if it was interrupted before it had one.

    The open connection keeps the session alive. If this process is killed, the session ends.
    """
    interrupts.pass_to(session)
    with contextlib.suppress(SessionGone), contextlib.closing(SessionClient(session.directory)) as client:
        client.call("look", count=0)
        reader = None
        while session.poll() is None:
            with contextlib.suppress(PacError, OSError):
                reader = reader or TelemetryReader(session.directory)
                line.show(take_snapshot(reader, ViewRequest(count=0)))
            time.sleep(REFRESH_PERIOD)
    line.end()
    try:
        return session.report()
    except SessionFailed:
        if interrupts.count and not session.reported:
            return None
        raise


class Interrupts:
    """Passes SIGINT, SIGTERM and SIGHUP on to the session: the first one stops it, the second one kills it.

    Attributes:
        count: Number of signals so far.
    """

    def __init__(self, starting: Starting | None = None) -> None:
        self.count = 0
        self._starting = starting
        self._session: SessionProcess | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        if self._session is not None and self._session.poll() is None:
            self._session.kill()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_to(self, session: SessionProcess) -> None:
        """Pass signals to a session, including those that arrived before it started."""
        self._session = session
        if self.count:
            session.terminate()

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        target = self._session or self._starting
        if target is not None:
            if self.count == 1:
                target.terminate()
            elif not started_by_torchrun():  # which passes on a signal that the terminal has sent, too
                target.kill()


class ProgressLine:
    """One line on stderr with the progress of a session, below its events."""

    def __init__(self, *, silent: bool = False) -> None:
        self._silent = silent
        self._live = sys.stderr.isatty() and not silent
        self._shown = 0
        self._due = 0.0
        self._before = ""
        self._begun: Progress | None = None

    def show(self, snapshot: Snapshot) -> None:
        """Show the progress and new events, except the error that ends the session, which the caller reports."""
        for event in snapshot.events:
            if event.number > self._shown and event.level < Level.FATAL:
                self._print(event.text.partition("\n")[0])
            self._shown = max(self._shown, event.number)
        if snapshot.phase.over:
            return
        if self._begun is None and snapshot.phase is Phase.RUNNING:
            self._begun = snapshot.state["training_seconds"], snapshot.state["limit"]
        self.say(progress_text(snapshot, self._begun or (0.0, 0.0)))

    def say(self, text: str) -> None:
        """Show what the session does; if stderr is not a terminal, not more often than every 10 s."""
        if self._live:
            width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
            self._write(f"\r{printable(text)[:width]}\x1b[K")
        elif time.monotonic() >= self._due and text != self._before:
            self._due, self._before = time.monotonic() + QUIET_PERIOD, text
            self._print(text)

    def event(self, text: str) -> None:
        """Show a line above."""
        self._print(text)

    def end(self) -> None:
        """Remove the line from a terminal."""
        if self._live:
            self._write("\r\x1b[K")

    def _print(self, text: str) -> None:
        text = printable(text)
        self._write(f"\r{text}\x1b[K\n" if self._live else f"{text}\n")

    def _write(self, text: str) -> None:
        if self._silent:
            return
        with contextlib.suppress(OSError):  # the session must be saved even if the terminal is closed
            stream = unfiltered(sys.stderr)
            stream.write(text)
            stream.flush()
