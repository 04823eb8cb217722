"""Statistics over the seeds of a training, as rliable has them (Agarwal et al., 2021): a robust mean and intervals.

Scores are in strata, one per task, since the scores of one task are no sample of another one's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs.unknown import UNKNOWN

Reals: TypeAlias = NDArray[np.float64]
Strata: TypeAlias = Sequence[Reals]
"""Scores of the runs of each task, `(runs,)`."""

RESAMPLES, LEVEL = 2_000, 0.95
STREAM = 0x7365_6564
"""Seed of the resampling, so that the same scores have the same interval."""
TRIMMED = 0.25
NORMAL_QUANTILE = NormalDist().inv_cdf((1 + LEVEL) / 2)
SAME = 1e-9
"""Resamples whose deviation is less than so much of the whole one's have equal values."""
LARGEST_QUANTILE = 1_000.0


def interquartile_mean(scores: Reals) -> Reals:
    """Return the mean of the middle half of scores `(..., runs)`, rounded to whole runs as `scipy.stats.trim_mean`."""
    count = scores.shape[-1]
    cut = int(TRIMMED * count)
    middle: Reals = np.sort(scores, axis=-1)[..., cut : count - cut].mean(axis=-1)
    return middle


def probability_of_improvement(better: Strata, worse: Strata) -> float:
    """Return how probable it is that a run of `better` has a higher score than one of `worse`, as a mean over tasks."""
    return float(np.mean([_share_above(a, b) for a, b in zip(better, worse, strict=True)]))


def _share_above(a: Reals, b: Reals) -> Reals:
    """Return the share of pairs of scores `(..., runs)` in which that of `a` is higher; equal ones count half."""
    difference = a[..., :, None] - b[..., None, :]
    share: Reals = ((difference > 0) + (difference == 0) / 2).mean(axis=(-2, -1))
    return share


def band(curves: Sequence[Reals], count: int = 200) -> tuple[Reals, Reals, Reals]:
    """Return the mean of curves `(2, points)` and one standard deviation, as `x`, `mean` and `deviation` `(count,)`.

    Where some have no values yet, or no longer, it is that of the others.
    """
    curves = [curve for curve in curves if curve.shape[-1] > 1]
    if not curves:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    x = np.linspace(min(curve[0, 0] for curve in curves), max(curve[0, -1] for curve in curves), count)
    rows = np.array([np.interp(x, curve[0], curve[1], left=np.nan, right=np.nan) for curve in curves])
    known = ~np.isnan(rows).all(axis=0)
    rows, several = rows[:, known], (~np.isnan(rows)).sum(axis=0)[known]
    deviation = np.nanstd(rows, axis=0) * np.sqrt(several / np.maximum(1, several - 1))  # of a sample
    return x[known], np.nanmean(rows, axis=0), deviation


def interval_of_iqm(scores: Strata) -> tuple[float, float] | None:
    """Return the 95 % interval of the interquartile mean of all scores; None if no task has two runs."""
    return _interval(scores, lambda drawn: interquartile_mean(np.concatenate(drawn, axis=-1)))


def interval_of_improvement(better: Strata, worse: Strata) -> tuple[float, float] | None:
    """Return the 95 % interval of the probability of improvement; None if it is unknown.

    It is so if one has a task with a single run, or if every pair says the same, as do all resamples then.
    """
    if min(map(len, (*better, *worse)), default=0) < 2:
        return None
    count = len(better)

    def improvement(drawn: Strata) -> Reals:
        pairs = zip(drawn[:count], drawn[count:], strict=True)
        found: Reals = np.mean([_share_above(a, b) for a, b in pairs], axis=0)
        return found

    found = _interval([*better, *worse], improvement)
    if found is None or found[0] == found[1]:
        return None
    return max(0.0, found[0]), min(1.0, found[1])


def interval_of_mean(values: Reals) -> tuple[float, float]:
    """Return the 95 % confidence interval of the mean of `values`; NaN of a single one, one point if all are equal.

    It contains three intervals, because each of them is too short for some values: that of Student's t, and two of the
    studentised bootstrap, in which each resample has its own error: one symmetric, one with equal tails.
    """
    count, mean = len(values), float(values.mean())
    if count < 2:
        return UNKNOWN, UNKNOWN
    deviation = float(values.std(ddof=1))
    if deviation == 0:
        return mean, mean
    (drawn,) = _resamples([values])
    deviations = drawn.std(1, ddof=1)
    varied = deviations > SAME * deviation
    errors = (drawn.mean(1) - mean)[varied] / deviations[varied] * deviation
    margin = max(student_quantile(count - 1) * deviation / math.sqrt(count), np.quantile(np.abs(errors), LEVEL))
    low, high = np.quantile(errors, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(mean - max(margin, high)), float(mean + max(margin, -low))


def interval_of_share(differences: Reals) -> tuple[float, float]:
    """Return the 95 % interval of a difference of shares, of pairs that differ by -1, 0 or 1 (Bonett and Price, 2012).

    One more pair of either kind is added, so the interval is no point if all pairs are equal.
    """
    more = np.append(differences, [1.0, -1.0])
    margin = NORMAL_QUANTILE * float(more.std()) / math.sqrt(len(more))
    return max(-1.0, float(more.mean()) - margin), min(1.0, float(more.mean()) + margin)


def _resamples(scores: Strata) -> Strata:
    """Return resamples of each stratum, `(RESAMPLES, runs)` each."""
    generator = np.random.default_rng(STREAM)
    return [stratum[generator.integers(0, len(stratum), (RESAMPLES, len(stratum)))] for stratum in scores]


def _interval(scores: Strata, statistic: Callable[[Strata], Reals]) -> tuple[float, float] | None:
    """Return the interval of a statistic: its error over resamples of each stratum, times a quantile of Student's t.

    rliable takes percentiles of the resamples instead. Of three seeds, those cover the truth in 74 % of all cases, and
    these in 95 %; of many seeds, both agree.
    """
    several = [len(stratum) for stratum in scores if len(stratum) > 1]
    if not several:
        return None
    error = float(statistic(_resamples(scores)).std()) * math.sqrt(min(several) / (min(several) - 1))
    centre, margin = float(statistic(scores)), error * student_quantile(sum(several) - len(several))
    return centre - margin, centre + margin


@lru_cache(maxsize=256)
def student_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return below what the absolute value of Student's t with `freedom` degrees of freedom is so often."""
    low, high = 0.0, LARGEST_QUANTILE
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_within(middle, freedom) < level else (low, middle)
    return high


def _student_within(t: float, freedom: int) -> float:
    """Return the probability that the absolute value of Student's t is below `t` (Abramowitz and Stegun, 26.7.3)."""
    angle = math.atan(t / math.sqrt(freedom))
    square, odd = math.cos(angle) ** 2, freedom % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for number in range(2 + odd, freedom + 1, 2):
        total += term
        term *= square * (number - 1) / number
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total
