"""How a session ends: with an error or without one. With `--alarm-exit`, the first alarm is such an error."""

from __future__ import annotations

import traceback

from ...backends.core.base import Backend
from ...envs import PacError
from ..guards.alarms import Alarms
from ..telemetry.events import EventLog
from ..telemetry.records import Level
from .gate import Gate


class AlarmRang(PacError):
    """A session ended because an alarm rang, as `alarm_exit` asks."""

    title = "Alarm"


class FailureHandler:
    """The error that a session ends with, if any. Any thread may report one.

    Args:
        events: Where errors and alarms are reported.
        alarms: What keeps all alarms for the session's report.
        gate: What an alarm that ends the session stops.
        alarm_exit: Whether the first alarm ends the session.

    Attributes:
        error: The error; None as long as there is none.
        worker_restarts: How many workers failed and were started again.
    """

    def __init__(self, events: EventLog, alarms: Alarms, gate: Gate, *, alarm_exit: bool) -> None:
        self.error: BaseException | None = None
        self.worker_restarts = 0
        self._events, self._alarms, self._gate = events, alarms, gate
        self._alarm_exit = alarm_exit

    def fail(self, error: BaseException) -> None:
        """Note and report an error that the session ends with."""
        self.error = error
        self._events.add(Level.FATAL, str(error) or type(error).__name__)

    def raise_alarm(self, text: str) -> None:
        """Report an alarm that is not the monitor's."""
        self._alarms.messages.append(text)
        self._events.add(self.alarm_level(text, Level.ERROR), text)

    def report_events(self, backend: Backend) -> None:
        """Report what a backend reports: workers that failed, which is an alarm, and those that are back."""
        for event in backend.drain_events():
            level, of_worker = Level[event.level.upper()], event.worker is not None
            if of_worker and level >= Level.WARNING:
                self.worker_restarts += 1
                self._alarms.marked.update(range(event.lo, event.hi))
                self._alarms.messages.append(event.text.partition("\n")[0])
                level = self.alarm_level(self._alarms.messages[-1], level)
            self._events.add(level, event.text, event.lo if of_worker else -1, reported=of_worker)

    def alarm_level(self, alarm: str, level: Level) -> Level:
        """Return the `level` of an alarm's event. One that ends the session is fatal: no further step passes."""
        if not self._alarm_exit or self._gate.stopping:
            return level
        self.error = AlarmRang(f"ended by an alarm, as --alarm-exit asks: {alarm.removeprefix('alarm: ')}")
        self._gate.stop()
        return Level.FATAL

    @property
    def message(self) -> str:
        """The error in a sentence; empty if there is none."""
        if isinstance(self.error, PacError):
            return f"{self.error.title}: {self.error}"
        return "".join(traceback.format_exception_only(self.error)).strip() if self.error else ""
