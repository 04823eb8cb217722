"""A mean that was measured, and how far it may be off."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ...envs.task import Array

Z_95 = 1.959964
"""Standard deviations to either side that hold 95 % of a normal distribution."""


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
    def of(cls, results: Array, each: int = 1) -> Self:
        """Return the mean of independent results, `(n,)` chips per hand, each of which took `each` hands."""
        margin = Z_95 * float(results.std(ddof=1)) / np.sqrt(len(results)) if len(results) > 1 else np.inf
        return cls(float(results.mean()), float(margin), each * len(results))
