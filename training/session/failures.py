"""Errors and findings of a session, and whether they end it. With `--alarm-exit`, the first finding does."""

from __future__ import annotations

import traceback

from ...backends.core.base import Backend
from ...envs import PacError
from ..diagnosis.diagnosis import Diagnosis
from ..diagnosis.session_rules import WORKER_FAILED
from ..telemetry.events import EventLog
from ..telemetry.findings import Finding
from ..telemetry.records import Level, Severity
from .gate import Gate


class AlarmExit(PacError):
    """A session ended because of a finding, as `--alarm-exit` requests."""

    title = "Finding"


class FailureHandler:
    """Reports errors and findings, from any thread, and keeps the error that the session ends with.

    Args:
        events: Where errors and findings are reported.
        diagnosis: Gets the problems that no rule measures.
        gate: Stopped by a finding that ends the session.
        alarm_exit: Whether the first finding that is no note ends the session.

    Attributes:
        error: The error that the session ends with; None without an error.
        worker_restarts: How many workers failed and were started again.
    """

    def __init__(self, events: EventLog, diagnosis: Diagnosis, gate: Gate, *, alarm_exit: bool) -> None:
        self.error: BaseException | None = None
        self.worker_restarts = 0
        self._events, self._diagnosis, self._gate = events, diagnosis, gate
        self._alarm_exit = alarm_exit

    def fail(self, error: BaseException) -> None:
        """Report an error that ends the session."""
        self.error = error
        self._events.add(Level.FATAL, str(error) or type(error).__name__)

    def ended_by(self, finding: Finding) -> Level | None:
        """End the session because of a finding, if it is to end; return the level of the finding's event then."""
        return self._end(finding.text) if finding.severity > Severity.NOTE else None

    def report(self, rule: str, text: str) -> None:
        """Report a problem that no rule measures, unless it lasts."""
        if self._diagnosis.report(rule, text):
            self._events.add(self._end(text) or Level.ERROR, text)

    def report_events(self, backend: Backend) -> None:
        """Report the events of a backend. A worker that failed is a finding."""
        for event in backend.drain_events():
            level, of_worker = Level[event.level.upper()], event.worker is not None
            if of_worker and level >= Level.WARNING:
                self.worker_restarts += 1
                self._diagnosis.marked.update(range(event.lo, event.hi))
                text = event.text.partition("\n")[0]
                self._diagnosis.report(WORKER_FAILED, text, event.lo)
                level = self._end(text) or level
            self._events.add(level, event.text, event.lo if of_worker else -1, reported=of_worker)

    def _end(self, text: str) -> Level | None:
        """End the session because of a problem, if it is to end; return the level of its event then."""
        if not self._alarm_exit or self._gate.stopping:
            return None
        self.error = AlarmExit(f"ended by a finding (--alarm-exit): {text}")
        self._gate.stop()
        return Level.FATAL

    @property
    def message(self) -> str:
        """The error in a sentence; empty without an error."""
        if isinstance(self.error, PacError):
            return f"{self.error.title}: {self.error}"
        return "".join(traceback.format_exception_only(self.error)).strip() if self.error else ""
