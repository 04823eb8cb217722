"""Copies that arrive late, as those of a GPU whose stream is behind the host."""

from __future__ import annotations

import random
from collections.abc import Iterable

import torch
from torch import Tensor


class LateEvent:
    """Is past after some queries, and not before the event before it."""

    def __init__(self, copies: list[tuple[Tensor, Tensor]], queries: int, before: LateEvent | None) -> None:
        self._copies, self._queries, self._before = copies, queries, before

    def query(self) -> bool:
        """Return whether the copies were made; make them if it is time."""
        if self._queries > 0 or (self._before is not None and not self._before.query()):
            self._queries -= 1
            return False
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Make the copies."""
        if self._before is not None:
            self._before.synchronize()
        with torch.inference_mode():
            for into, source in self._copies:
                into.copy_(source)
        self._copies, self._queries, self._before = [], 0, None


class LateTransfer:
    """Copies what the device has now, after a random number of queries; until then, the host sees other numbers.

    Attributes:
        events: Of all transfers, in order.
    """

    def __init__(self, seed: int = 0, most: int = 4) -> None:
        self._random, self._most = random.Random(seed), most
        self.events: list[LateEvent] = []

    def __call__(self, pairs: Iterable[tuple[Tensor, Tensor]]) -> LateEvent:
        """Begin to copy."""
        copies = [(into.fill_(77), source.clone()) for into, source in pairs]
        before = self.events[-1] if self.events else None
        self.events.append(LateEvent(copies, self._random.randint(0, self._most), before))
        return self.events[-1]
