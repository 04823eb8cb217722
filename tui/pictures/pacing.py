"""How many bytes may be on their way to the terminal, so that neither pictures nor text delay the answers to keys.

What is written waits in front of the slowest part of the connection. The terminal answers small questions between, and
the times of its answers say how long the way is, and how many bytes per second it carries.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

FIRST = 32 * 1024
"""Bytes that may be on their way until the connection is known."""
LEAST, MOST = 2 * 1024, 4 * 1024 * 1024
PATIENCE = 0.06
"""Seconds by which what is on its way may delay what is written next."""
PICTURES = 0.03
"""Seconds by which pictures may do so; the rest is for text."""
PERIOD = 10.0
"""Seconds after which the connection is measured again, as it may have changed."""
GIVEN_UP = 3.0
"""Seconds after which an answer is not awaited any more."""
QUESTION = 512
"""Bytes after which a question follows."""


class Sent(NamedTuple):
    """Bytes with a question behind them.

    Attributes:
        at: When they were sent.
        before: Bytes that had arrived until then.
        since: When the last of these was known to have arrived, or when nothing was on its way.
    """

    at: float
    size: int
    before: int
    since: float


class Pacing:
    """Counts the bytes on their way, by the answers of the terminal.

    Args:
        most: Most bytes per second, where the answers say nothing of the whole connection.

    Attributes:
        rate: Bytes per second that have arrived at best; 0 before anything has.
        trip: Seconds to the terminal and back, when nothing else is on its way.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: float | None = None) -> None:
        self._clock, self._most = clock, most
        self._free = 0.0  # when bytes at the highest rate would have been sent
        self._sent: deque[Sent] = deque()
        self._unasked = self._arrived = 0
        self._known = clock()
        self.rate, self.trip = 0.0, GIVEN_UP
        self._rates, self._trips = [0.0, 0.0], [GIVEN_UP, GIVEN_UP]
        self._renewed, self._emptied = clock() + PERIOD, 0.0

    def limit(self, patience: float = PATIENCE) -> int:
        """Return how many bytes may be on their way, if they may delay others by so many seconds.

        From time to time these are few, so that the connection runs empty and is measured.
        """
        if not self.rate:
            return FIRST
        waits = -self.trip / 2 if self._clock() < self._emptied else patience
        return int(min(MOST, max(LEAST, self.rate * (self.trip + waits))))

    @property
    def room(self) -> int:
        """Bytes of pictures that may be sent now."""
        if self._most is not None and self._clock() < self._free:
            return 0
        return max(0, self.limit(PICTURES) - self.under_way)

    @property
    def busy(self) -> bool:
        """Whether so much is on its way that text should wait."""
        return self.under_way > self.limit()

    @property
    def under_way(self) -> int:
        """Bytes that were written and are not known to have arrived."""
        while self._sent and self._clock() - self._sent[0].at > GIVEN_UP:
            self._arrived += self._sent.popleft().size
            self._rates, self.trip = [rate / 2 for rate in self._rates], 0.0
            self.rate = max(1.0, *self._rates)
        return self._unasked + sum(sent.size for sent in self._sent)

    def wrote(self, count: int) -> bool:
        """Note that bytes were written; return whether a question should follow, see `asked`."""
        self._unasked += count
        return self._unasked >= QUESTION

    def asked(self) -> None:
        """Note that a question follows what was written."""
        now = self._clock()
        if not self._sent:
            self._known = now
        self._sent.append(Sent(now, self._unasked, self._arrived, self._known))
        if self._most is not None:
            self._free = max(now, self._free) + self._unasked / self._most
        self._unasked = 0

    def answered(self) -> None:
        """Note that the first bytes that were not yet answered have arrived."""
        if not self._sent:
            return
        now, sent = self._clock(), self._sent.popleft()
        self._arrived, self._known = self._arrived + sent.size, now
        if now >= self._renewed:
            self._renewed, self._emptied = now + PERIOD, now + self.trip + PATIENCE
            self._rates, self._trips = [self._rates[1], 0.0], [self._trips[1], GIVEN_UP]
        self._trips[1] = min(self._trips[1], now - sent.at)
        self._rates[1] = max(self._rates[1], (self._arrived - sent.before) / max(1e-4, now - sent.since))
        self.rate, self.trip = max(self._rates), min(self._trips)
