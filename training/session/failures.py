"""Errors and alarms of a session, and whether they end it. With `--alarm-exit`, the first alarm does."""

from __future__ import annotations

import traceback

from ...backends.core.base import Backend
from ...envs import PacError
from ..guards.alarms import Alarms
from ..telemetry.events import EventLog
from ..telemetry.records import Level
from .gate import Gate


class AlarmExit(PacError):
    """A session ended because of an alarm, as `--alarm-exit` requests."""

    title = "Alarm"


class FailureHandler:
    """Reports errors and alarms, from any thread, and keeps the error that the session ends with.

    Args:
        events: Where errors and alarms are reported.
        alarms: Gets all alarms, for the session's report.
        gate: Stopped by an alarm that ends the session.
        alarm_exit: Whether the first alarm ends the session.

    Attributes:
        error: The error that the session ends with; None without an error.
        worker_restarts: How many workers failed and were started again.
    """

    def __init__(self, events: EventLog, alarms: Alarms, gate: Gate, *, alarm_exit: bool) -> None:
        self.error: BaseException | None = None
        self.worker_restarts = 0
        self._events, self._alarms, self._gate = events, alarms, gate
        self._alarm_exit = alarm_exit

    def fail(self, error: BaseException) -> None:
        """Report an error that ends the session."""
        self.error = error
        self._events.add(Level.FATAL, str(error) or type(error).__name__)

    def raise_alarm(self, text: str) -> None:
        """Report an alarm that is not raised by the debugger."""
        self._alarms.messages.append(text)
        self._events.add(self.alarm_level(text, Level.ERROR), text)

    def report_events(self, backend: Backend) -> None:
        """Report the events of a backend. A worker that failed is an alarm."""
        for event in backend.drain_events():
            level, of_worker = Level[event.level.upper()], event.worker is not None
            if of_worker and level >= Level.WARNING:
                self.worker_restarts += 1
                self._alarms.marked.update(range(event.lo, event.hi))
                self._alarms.messages.append(event.text.partition("\n")[0])
                level = self.alarm_level(self._alarms.messages[-1], level)
            self._events.add(level, event.text, event.lo if of_worker else -1, reported=of_worker)

    def alarm_level(self, alarm: str, level: Level) -> Level:
        """Return the level of an alarm's event: fatal if it ends the session, whose gate is then stopped."""
        if not self._alarm_exit or self._gate.stopping:
            return level
        self.error = AlarmExit(f"ended by an alarm (--alarm-exit): {alarm.removeprefix('alarm: ')}")
        self._gate.stop()
        return Level.FATAL

    @property
    def message(self) -> str:
        """The error in a sentence; empty without an error."""
        if isinstance(self.error, PacError):
            return f"{self.error.title}: {self.error}"
        return "".join(traceback.format_exception_only(self.error)).strip() if self.error else ""
