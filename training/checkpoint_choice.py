"""Which checkpoints are kept besides the newest ones: `--keep best,every:20`; and one of a run: `--checkpoint best`."""

from __future__ import annotations

from typing import NamedTuple

LAST, BEST, EVERY = "last", "best", "every"


class Kept(NamedTuple):
    """Which checkpoints are kept besides the newest ones.

    Attributes:
        best: Whether the best one is.
        every: Of how many checkpoints one is kept for good; 0 for none.
    """

    best: bool = False
    every: int = 0

    @classmethod
    def parse(cls, text: str) -> Kept:
        """Return what a text such as `best,last,every:20` names.

        Raises:
            ValueError: It names something else.
        """
        best, every = False, 0
        for part in text.split(","):
            kind, _, number = part.strip().partition(":")
            if kind == EVERY and number.isdecimal() and int(number):
                if every:
                    raise ValueError(f"expected every:NUMBER once, got {text!r}")
                every = int(number)
            elif kind == BEST and not number:
                best = True
            elif kind != LAST or number:
                raise ValueError(f"expected last, best or every:NUMBER, such as best,every:20, got {part.strip()!r}")
        return cls(best, every)
