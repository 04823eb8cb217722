"""Paired differences over seeds: their mean, its 95 % confidence interval, and effect sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...envs.unknown import UNKNOWN

RESAMPLES, LEVEL = 2_000, 0.95
STREAM = 0x7061_6972
"""Seed of the resampling, so that the same differences have the same interval."""


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


def paired(differences: NDArray[np.float64]) -> Paired:
    """Return what differences B - A say about their mean, from at least one pair."""
    mean = float(differences.mean())
    deviation = float(differences.std(ddof=1)) if len(differences) > 1 else UNKNOWN
    effect = mean / deviation if deviation else math.copysign(math.inf, mean) if mean else 0.0
    low, high = interval(differences)
    better, worse = float((differences > 0).mean()), float((differences < 0).mean())
    return Paired(mean, low, high, effect, better, worse)


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the mean of `values`: a symmetric bootstrap-t interval.

    Each resample has its own standard error. So the interval also covers the mean of few and skewed values, whose
    t interval is too short.
    """
    count = len(values)
    if count < 2:
        return UNKNOWN, UNKNOWN
    mean, deviation = values.mean(), values.std(ddof=1)
    if deviation == 0:
        return float(mean), float(mean)
    drawn = values[np.random.default_rng(STREAM).integers(0, count, (RESAMPLES, count))]
    deviations = drawn.std(1, ddof=1)
    varied = deviations > 1e-9 * deviation
    margin = np.quantile(np.abs(drawn.mean(1) - mean)[varied] / deviations[varied], LEVEL) * deviation
    return float(mean - margin), float(mean + margin)
