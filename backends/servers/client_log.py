"""Logs errors of clients in short lines, at most one per 10 s, without tracebacks."""

from __future__ import annotations

import logging
import time

QUIET = 10.0
"""Time between two lines, in s."""


class OneLineFilter(logging.Filter):
    """Shortens each record to one line with the class of its exception, and drops records that come too soon.

    What a client sent is not logged: it may be long or contain control characters.
    """

    def __init__(self) -> None:
        super().__init__()
        self._due = 0.0
        self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a record, after shortening it."""
        now = time.monotonic()
        if now < self._due:
            self._left_out += 1
            return False
        error = record.exc_info[1] if record.exc_info else None
        what = f": {type(error).__name__}" if error is not None else ""
        more = f" ({self._left_out:,} similar errors before)" if self._left_out else ""
        record.msg, record.args = f"{record.getMessage().partition(chr(10))[0]}{what}{more}", ()
        record.exc_info = record.exc_text = record.stack_info = None
        self._due, self._left_out = now + QUIET, 0
        return True


def client_log(name: str) -> logging.Logger:
    """Return a logger for errors of the clients of the server `name`."""
    logger = logging.getLogger(f"{name}.clients")
    if not logger.filters:
        logger.addFilter(OneLineFilter())
    return logger
