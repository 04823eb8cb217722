"""Logs what clients do wrong: in one short line now and then, and never with a traceback."""

from __future__ import annotations

import logging
import time

QUIET = 10.0
"""Seconds between two lines."""


class OneLineFilter(logging.Filter):
    """Makes one line of each record, names an exception by its class alone, and leaves out what comes too soon.

    What a client sent is not repeated: it may be long, and hold control characters.
    """

    def __init__(self) -> None:
        super().__init__()
        self._due = 0.0
        self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is to be written; it has one line then."""
        now = time.monotonic()
        if now < self._due:
            self._left_out += 1
            return False
        error = record.exc_info[1] if record.exc_info else None
        what = f": {type(error).__name__}" if error is not None else ""
        more = f" ({self._left_out:,} more like it before)" if self._left_out else ""
        record.msg, record.args = f"{record.getMessage().partition(chr(10))[0]}{what}{more}", ()
        record.exc_info = record.exc_text = record.stack_info = None
        self._due, self._left_out = now + QUIET, 0
        return True


def client_log(name: str) -> logging.Logger:
    """Return a logger for what clients of the server `name` do wrong."""
    logger = logging.getLogger(f"{name}.clients")
    if not logger.filters:
        logger.addFilter(OneLineFilter())
    return logger
