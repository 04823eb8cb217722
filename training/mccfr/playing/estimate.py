"""Estimates of means with confidence intervals, measured by threads in parts."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from ....envs.fields import Array

OnProgress: TypeAlias = Callable[[float], None]
"""Called with the share that is done."""

Z_95 = 1.959964
"""95 % of a normal distribution is within so many standard deviations of its mean."""


FEW = 30
"""Up to so many results no regression is made: it would fit noise and make the margin too small."""


class Estimate(NamedTuple):
    """A mean with its confidence interval.

    Attributes:
        mean: The mean, in chips per hand.
        margin: Half of the 95 % confidence interval; 0 if the mean was computed exactly.
        hands: Hands that were played; 0 if the mean was computed exactly.
    """

    mean: float
    margin: float = 0.0
    hands: int = 0

    @classmethod
    def of(cls, results: Array, each: int = 1, luck: Array | None = None) -> Self:
        """Return the mean of independent results.

        Args:
            results: `(n,)` chips per hand.
            each: Hands per result.
            luck: `(n,)` a control variate: numbers with mean 0 that correlate with the results. Their linear
                regression is subtracted from the results.
        """
        if luck is not None and len(results) > FEW and luck.any():
            results = results - np.cov(results, luck)[0, 1] / luck.var(ddof=1) * luck
        margin = Z_95 * float(results.std(ddof=1)) / np.sqrt(len(results)) if len(results) > 1 else np.inf
        return cls(float(results.mean()), float(margin), each * len(results))


def no_progress(share: float) -> None:
    """Report nothing."""


def measure_parts(measure: Callable[[int], Array], parts: int, threads: int, on_progress: OnProgress) -> Array:
    """Return the results of all parts of a measurement, in order.

    Args:
        measure: Returns the results of a part, `(n,)`; called by several threads.
        on_progress: Called with the share that is done.
    """
    results = []
    with ThreadPoolExecutor(threads) as pool:
        for done, result in enumerate(pool.map(measure, range(parts))):
            results.append(result)
            on_progress((done + 1) / parts)
    return np.concatenate(results)
