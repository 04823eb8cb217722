"""A mean that was measured, in parts that threads measure, and how far it may be off."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from ....envs.fields import Array

OnProgress: TypeAlias = Callable[[float], None]
"""Is told the share that is done."""

Z_95 = 1.959964
"""Standard deviations to either side that hold 95 % of a normal distribution."""


FEW = 30
"""Results of which no line is drawn: it would follow them, and make the margin too small."""


class Estimate(NamedTuple):
    """What something is worth.

    Attributes:
        mean: The mean, in chips per hand.
        margin: The true mean lies within this of it with 95 % confidence; 0 where it was computed exactly.
        hands: Hands that were played; 0 where it was computed exactly.
    """

    mean: float
    margin: float = 0.0
    hands: int = 0

    @classmethod
    def of(cls, results: Array, each: int = 1, luck: Array | None = None) -> Self:
        """Return the mean of independent results.

        Args:
            results: `(n,)` chips per hand.
            each: Hands that each of them took.
            luck: `(n,)` what is 0 on average and goes up and down with the results: what they share is taken out, as
                far as a straight line through them tells it (a control variate).
        """
        if luck is not None and len(results) > FEW and luck.any():
            results = results - np.cov(results, luck)[0, 1] / luck.var(ddof=1) * luck
        margin = Z_95 * float(results.std(ddof=1)) / np.sqrt(len(results)) if len(results) > 1 else np.inf
        return cls(float(results.mean()), float(margin), each * len(results))


def no_progress(share: float) -> None:
    """Tell nobody."""


def measure_parts(measure: Callable[[int], Array], parts: int, threads: int, on_progress: OnProgress) -> Array:
    """Return what all parts of a measurement bring, in their order, whichever is done first.

    Args:
        measure: Returns the results of a part, `(n,)`; called by several threads.
        parts: How many there are.
        threads: How many are measured at once.
        on_progress: Is told the share that is done.
    """
    results = []
    with ThreadPoolExecutor(threads) as pool:
        for done, result in enumerate(pool.map(measure, range(parts))):
            results.append(result)
            on_progress((done + 1) / parts)
    return np.concatenate(results)
