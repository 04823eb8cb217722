"""Groups hands with similar equities: k-means with the earth mover's distance, in integers.

A point is a row of int16: how much of a histogram is above each of its bins. Between histograms of one dimension the
earth mover's distance is the L1 distance of such rows, and the sum of a row rises with the mean equity. Integers make
the result independent of the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from ...fields import Array
from ...native import compiled
from .parallel import ThreadCrew

ROUNDS = 100
CHUNK = 8192


@compiled
def distance(one: Array, other: Array) -> int:
    """The L1 distance of two points."""
    total = np.int32(0)
    for at in range(len(one)):
        total = np.int32(total + np.int32(abs(np.int32(np.int32(one[at]) - np.int32(other[at])))))
    return int(total)


@compiled
def totals_of(centres: Array) -> Array:
    """The sums of points, `(k,)` int64."""
    totals = np.zeros(len(centres), np.int64)
    for place in range(len(centres)):
        for part in centres[place]:
            totals[place] += part
    return totals


@compiled
def first_at_least(totals: Array, total: int) -> int:
    """The place of the first of ascending numbers that is not below `total`."""
    low, high = 0, len(totals)
    while low < high:
        middle = (low + high) // 2
        if totals[middle] < total:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def nearest(point: Array, centres: Array, totals: Array) -> tuple[int, int]:
    """Return the nearest center of a point, and its distance.

    Points are at least as far apart as their sums, so the search starts at the nearest sum and ends early.

    Args:
        point: `(width,)` int16.
        centres: `(k, width)` int16, by rising sums.
        totals: `(k,)` int64, the sums.
    """
    total = 0
    for part in point:
        total += part
    above = first_at_least(totals, total)
    below = above - 1
    found, least = -1, np.iinfo(np.int64).max
    while below >= 0 or above < len(totals):
        if above == len(totals) or (below >= 0 and total - totals[below] <= totals[above] - total):
            place, gap = below, total - totals[below]
            below -= 1
        else:
            place, gap = above, totals[above] - total
            above += 1
        if gap >= least:
            break
        away = distance(point, centres[place])
        if away < least:
            found, least = place, away
    return found, least


@compiled
def gather(points: Array, weights: Array, centres: Array, sums: Array, mass: Array) -> None:
    """Add up the points that are nearest to each centre.

    Args:
        points: `(n, width)` int16.
        weights: `(n,)` int64.
        centres: `(k, width)` int16, by rising sums.
        sums: `(k, width)` int64, added to: the points times their weights.
        mass: `(k,)` int64, added to: the weights.
    """
    totals = totals_of(centres)
    for at in range(len(points)):
        place, _ = nearest(points[at], centres, totals)
        mass[place] += weights[at]
        for part in range(points.shape[1]):
            sums[place, part] += weights[at] * points[at, part]


@compiled
def approach(points: Array, weights: Array, centre: Array, least: Array, heaps: Array) -> None:
    """Update the distances for a new center.

    Args:
        points: `(n, width)` int16.
        weights: `(n,)` int64.
        centre: `(width,)` int16, the new one.
        least: `(n,)` int64, the points' distances to their nearest center, updated.
        heaps: `(n,)` float64, written: the sums, up to each point, of weights times squares of these distances.
    """
    total = 0.0
    for at in range(len(points)):
        least[at] = min(least[at], distance(points[at], centre))
        total += weights[at] * float(least[at]) ** 2
        heaps[at] = total


def ordered(centres: Array) -> Array:
    """Return centres by rising sums, each of them once."""
    different = np.unique(centres, axis=0)
    return different[np.argsort(totals_of(different), kind="stable")]


def spread_out(points: Array, weights: Array, count: int, random: Generator, tell: Callable[[float], None]) -> Array:
    """Choose initial centers, each with a probability proportional to its squared distance to those before.

    This is k-means++ (Arthur, Vassilvitskii, 2007). It returns fewer than `count` if there are fewer different points.
    """
    heaps = np.cumsum(weights, dtype=np.float64)
    least = np.full(len(points), np.iinfo(np.int64).max)
    chosen: list[int] = []
    while len(chosen) < count and heaps[-1] > 0:
        tell(len(chosen) / count)
        chosen.append(int(np.searchsorted(heaps, random.random() * heaps[-1], side="right")))
        approach(points, weights, points[chosen[-1]], least, heaps)
    tell(1.0)
    return points[chosen]


def moved(points: Array, weights: Array, centres: Array, crew: ThreadCrew) -> Array:
    """Return the means of the points that are nearest to each center, in order; a center without points stays."""

    def work(first: int, last: int) -> tuple[Array, Array]:
        sums, mass = np.zeros(centres.shape, np.int64), np.zeros(len(centres), np.int64)
        gather(points[first:last], weights[first:last], centres, sums, mass)
        return sums, mass

    sums, mass = (sum(parts) for parts in zip(*crew.share(work, len(points), CHUNK), strict=True))
    middle = (sums + mass[:, None] // 2) // np.maximum(mass, 1)[:, None]
    return ordered(np.where(mass[:, None] > 0, middle, centres).astype(np.int16))


def cluster(points: Array, weights: Array, count: int, random: Generator, *, crew: ThreadCrew, what: str) -> Array:
    """Return up to `count` centers `(k, width)` int16 by rising sums, after convergence or `ROUNDS` rounds.

    Args:
        points: `(n, width)` int16, 0 or more.
        weights: `(n,)` int64, number of hands of each point.
        count: Number of centers; there are no more than different points.
        random: The random generator of the initial centers.
        what: The name of the computation for progress.
    """
    centres = ordered(spread_out(points, weights, count, random, lambda share: crew.progress(f"{what}, first", share)))
    for done in range(ROUNDS):
        crew.progress(what, done / ROUNDS)
        before, centres = centres, moved(points, weights, centres, crew)
        if np.array_equal(before, centres):
            break
    crew.progress(what, 1.0)
    return centres
