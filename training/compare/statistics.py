"""Paired differences over seeds: their mean, its 95 % confidence interval, and effect sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...envs.unknown import UNKNOWN
from ..runs.statistics import interval_of_mean, interval_of_share


@dataclass(frozen=True)
class Paired:
    """Differences B - A of pairs.

    Attributes:
        mean: Their mean.
        low: The lower end of its 95 % confidence interval; NaN of a single pair, as `high`.
        high: The upper end.
        effect: Cohen's d of pairs: the mean in units of the standard deviation of the differences; 0 without any
            difference, infinite if all are the same one.
        better: The share of pairs in which B is higher.
        worse: The share in which A is higher; the others are equal.
    """

    mean: float
    low: float
    high: float
    effect: float
    better: float
    worse: float


def paired(differences: NDArray[np.float64], *, shares: bool = False) -> Paired:
    """Return what differences B - A say about their mean, from at least one pair.

    Args:
        shares: Whether it is a difference of shares: each pair differs by -1, 0 or 1.
    """
    mean = float(differences.mean())
    deviation = float(differences.std(ddof=1)) if len(differences) > 1 else UNKNOWN
    effect = mean / deviation if deviation else math.copysign(math.inf, mean) if mean else 0.0
    low, high = (interval_of_share if shares else interval_of_mean)(differences)
    better, worse = float((differences > 0).mean()), float((differences < 0).mean())
    return Paired(mean, low, high, effect, better, worse)
