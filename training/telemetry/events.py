"""The last events of a session."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque

from ...envs.printable import LINES, printable
from .blocks import TelemetryWriter
from .declared import encode_clipped
from .records import EVENT, Level
from .segment_layout import MAX_EVENTS

LOG_LEVELS = {Level.WARNING: logging.WARNING, Level.ERROR: logging.ERROR, Level.FATAL: logging.CRITICAL}


class EventLog:
    """The ring of events; any thread may add.

    Attributes:
        log: Where all events are logged in full.
        reported: The texts that the final report repeats: warnings, errors and how they were resolved.
    """

    def __init__(self) -> None:
        self.log: logging.Logger | None = None
        self.count = 0
        self._adding = threading.Lock()
        self.recent: deque[tuple[int, float, Level, int, str]] = deque(maxlen=MAX_EVENTS)
        self.reported: deque[str] = deque(maxlen=MAX_EVENTS)

    def add(self, level: Level, text: str, env: int = -1, *, reported: bool = False) -> None:
        """Add an event of now; warnings and worse are always `reported`."""
        text = printable(text, LINES)
        with self._adding:
            self.count += 1
            self.recent.append((self.count, time.time(), level, env, text))
            if reported or level >= Level.WARNING:
                self.reported.append(text)
        if self.log is not None:
            self.log.log(LOG_LEVELS.get(level, logging.INFO), "%s", text)

    def write(self, writer: TelemetryWriter) -> None:
        """Write the kept events."""
        with writer.write("events") as events:
            for number, when, level, env, text in list(self.recent):
                events[(number - 1) % len(events)] = (
                    number,
                    when,
                    level,
                    env,
                    encode_clipped(text, EVENT.dtype["text"].itemsize),
                )
