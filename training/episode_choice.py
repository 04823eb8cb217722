"""Which episodes are recorded without being asked for: `--record best`, `worst` or `every:100`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..envs.fields import Array

BEST, WORST, EVERY = "best", "worst", "every"


@dataclass
class EpisodeChoice:
    """Chooses episodes as they end.

    Attributes:
        kind: `best`, `worst` or `every`.
        number: For `every`, of how many episodes one is chosen.
        record: The return of the best or the worst episode so far.
    """

    kind: str
    number: int = 1
    record: float = math.nan

    @classmethod
    def parse(cls, text: str) -> EpisodeChoice:
        """Return the choice that a text names.

        Raises:
            ValueError: It names none.
        """
        kind, _, number = text.partition(":")
        if kind in {BEST, WORST} and not number:
            return cls(kind)
        if kind == EVERY and number.isdecimal() and int(number):
            return cls(EVERY, int(number))
        raise ValueError(f"expected best, worst or every:NUMBER, such as every:100, got {text!r}")

    def chosen(self, returns: Array, before: int) -> list[int]:
        """Return which of some episodes are chosen, by index.

        Args:
            returns: Their returns, in the order in which they ended.
            before: How many episodes had ended before.
        """
        if self.kind == EVERY:
            return list(range(self.number - 1 - before % self.number, len(returns), self.number))
        sign = 1.0 if self.kind == BEST else -1.0
        found = [
            (sign * value, -index)
            for index, value in enumerate(returns.tolist())
            if math.isfinite(value) and not sign * value <= sign * self.record
        ]
        if not found:
            return []
        value, index = max(found)
        self.record = sign * value
        return [-index]
