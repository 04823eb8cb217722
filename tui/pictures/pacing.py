"""How many bytes of pictures may be on their way to the terminal, so that they do not delay the answers to keys.

What is written waits in front of the slowest part of the connection. So the time from a picture to the terminal's
answer grows with the bytes that wait. As many are sent as leave this time little longer than on an idle connection.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

FIRST = 32 * 1024
"""Bytes that may be on their way until the connection is known."""
LEAST, MOST = 2 * 1024, 4 * 1024 * 1024
PATIENCE = 0.06
"""Seconds by which pictures may delay what is drawn after them."""
GROWTH, SHRINK = 0.25, 0.75
"""Part of the answered bytes by which the limit grows, and what is left of it if something has waited too long."""
PERIOD = 10.0
"""Seconds after which the shortest trip is measured again, as the connection may have changed."""
GIVEN_UP = 3.0
"""Seconds after which an answer is not awaited any more."""


class Pacing:
    """Counts the bytes on their way, by the answers of the terminal.

    Args:
        rate: Most bytes per second, where the answers say nothing of the whole connection.

    Attributes:
        limit: Bytes that may be on their way.
        trip: Seconds to the terminal and back, when nothing else is on its way.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, rate: float | None = None) -> None:
        self._clock, self._rate = clock, rate
        self._free = 0.0  # when bytes at the highest rate would have been sent
        self._sent: deque[tuple[float, int, bool]] = deque()
        self.limit = float(FIRST)
        self.trip = GIVEN_UP
        self._before = self._now = GIVEN_UP
        self._shrunk, self._renewed = 0.0, clock() + PERIOD

    @property
    def room(self) -> int:
        """Bytes that may be sent now."""
        while self._sent and self._clock() - self._sent[0][0] > GIVEN_UP:
            self._sent.popleft()
            self._shrink()
        if self._rate is not None and self._clock() < self._free:
            return 0
        return max(0, int(self.limit) - self.under_way)

    @property
    def under_way(self) -> int:
        """Bytes that were sent and not yet answered."""
        return sum(count for _, count, _ in self._sent)

    def sent(self, count: int) -> None:
        """Note that bytes were sent, with a question behind them."""
        full = self.under_way + count > self.limit / 2
        self._sent.append((self._clock(), count, full))
        if self._rate is not None:
            self._free = max(self._clock(), self._free) + count / self._rate

    def answered(self) -> None:
        """Note that the first bytes that were not yet answered have arrived."""
        if not self._sent:
            return
        then, count, full = self._sent.popleft()
        took = self._clock() - then
        self._measure(took)
        if took > self.trip + PATIENCE:
            self._shrink()
        elif full and took < self.trip + PATIENCE / 2:
            self.limit = min(MOST, self.limit + count * GROWTH)

    def _measure(self, took: float) -> None:
        """Take the shortest trip of the last two periods; at the begin of each, let the connection run empty once."""
        if self._clock() >= self._renewed:
            self._renewed = self._clock() + PERIOD
            self._before, self._now = self._now, took
            self.limit = max(LEAST, self.limit / 2)
        self._now = min(self._now, took)
        self.trip = min(self._now, self._before)

    def _shrink(self) -> None:
        """Let less be under way, once for all that was sent before."""
        now = self._clock()
        if now >= self._shrunk:
            self.limit = max(LEAST, self.limit * SHRINK)
            self._shrunk = now + self.trip + PATIENCE
