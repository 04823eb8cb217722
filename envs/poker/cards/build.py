"""Computes a card abstraction: the bucket of every hand on every board of each street."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...fields import Array
from ...native import compiled
from .clusters import cluster, nearest, totals_of
from .equity import BINS, FULL, IMPOSSIBLE, RiverEquities, histograms, river_equities
from .parallel import ThreadCrew
from .words import HOLE_WORDS, HOLES, CardBoards, boards, renamings

NAMES = {3: "flop", 4: "turn", 5: "river"}
UNITS = (0, 0, 0, 30, 700, 16)
"""The weight of a river in a point, by number of cards; on the river, of half an opponent. The largest for int16."""
RUNOUTS = {3: 1081, 4: 46}
"""Number of rivers that follow, by number of cards of the board."""
SAMPLE, SAMPLE_PER_BUCKET = 1 << 16, 50
"""The centers of a street's buckets are computed from at least this many hands, spread evenly over its boards."""
BOARDS = {3: 10, 4: 100, 5: 500}
"""Number of boards per task of a thread, about a tenth of a second of work."""


class StreetBuckets(NamedTuple):
    """The buckets of one street.

    Attributes:
        table: `(boards, 1326)` uint8 or uint16, the bucket of each pair of cards; undefined if they clash with the
            board.
        shares: `(buckets,)` float64, shares of all hands; the last are 0 if fewer buckets separate all hands.
        equities: `(buckets,)` float64, mean equities, before the river estimated from the bins of their histograms; NaN
            if a bucket is empty.
    """

    table: Array
    shares: Array
    equities: Array


@compiled
def write_points(bins: Array, unit: int, points: Array) -> None:
    """Write the points of histograms.

    Args:
        bins: `(n, BINS + 1)` uint16, as `equity.histograms` writes them.
        unit: What one river counts.
        points: `(n, BINS)` int16, written.
    """
    for at in range(len(points)):
        above = 0
        for place in range(BINS - 1, -1, -1):
            points[at, place] = above * unit
            above += bins[at, place]


@compiled
def sample(rivers: RiverEquities, words: Array, size: int, holes: Array, points: Array) -> None:
    """Write the points of some pairs of cards on some boards.

    Args:
        words: `(boards,)` int64, boards.
        size: Their cards, 3 or 4.
        holes: `(boards, n)` uint16, pairs of cards.
        points: `(boards, n, BINS)` int16, written.
    """
    bins = np.empty((holes.shape[1], BINS + 1), np.uint16)
    for board in range(len(words)):
        histograms(rivers, words[board], size, holes[board], bins)
        write_points(bins, UNITS[size], points[board])


@compiled
def sort_in(
    rivers: RiverEquities,
    words: Array,
    weights: Array,
    size: int,
    centres: Array,
    table: Array,
    mass: Array,
    sums: Array,
) -> None:
    """Find the buckets of all pairs of cards on some boards.

    Args:
        words: `(boards,)` int64, boards.
        weights: `(boards,)` int64, how many dealt boards each stands for.
        size: Their cards, 3 or 4.
        centres: `(k, BINS)` int16, by rising sums.
        table: `(boards, 1326)`, written.
        mass: `(k,)` int64, the hands of each bucket are added.
        sums: `(k,)` int64, the sums of their points are added.
    """
    holes = np.arange(HOLES).astype(np.uint16)
    bins, points = np.empty((HOLES, BINS + 1), np.uint16), np.empty((HOLES, BINS), np.int16)
    totals = totals_of(centres)
    for board in range(len(words)):
        histograms(rivers, words[board], size, holes, bins)
        write_points(bins, UNITS[size], points)
        for hole in range(HOLES):
            table[board, hole] = 0
            if not words[board] & HOLE_WORDS[hole]:
                bucket, _ = nearest(points[hole], centres, totals)
                table[board, hole] = bucket
                mass[bucket] += weights[board]
                for part in points[hole]:
                    sums[bucket] += weights[board] * part


@compiled
def count_equities(equities: Array, weights: Array, counts: Array) -> None:
    """Count the hands of each equity, into `counts` `(IMPOSSIBLE + 1,)` int64; `weights` are those of the boards."""
    for board in range(len(equities)):
        for equity in equities[board]:
            counts[equity] += weights[board]


@compiled
def translate(equities: Array, buckets: Array, table: Array) -> None:
    for board in range(len(equities)):
        for hole in range(equities.shape[1]):
            table[board, hole] = buckets[equities[board, hole]]


def kind_of(count: int) -> type[np.unsignedinteger]:
    """Return the smallest unsigned dtype for this number of buckets."""
    return np.uint8 if count <= 1 << 8 else np.uint16


def street_of(table: Array, count: int, mass: Array, equities: Array) -> StreetBuckets:
    """Return a street, with empty buckets at the end if fewer than `count` were found."""
    empty = count - len(mass)
    shares = np.concatenate([mass / mass.sum(), np.zeros(empty)])
    return StreetBuckets(table, shares, np.concatenate([equities, np.full(empty, np.nan)]))


def all_rivers(found: CardBoards, crew: ThreadCrew) -> RiverEquities:
    """Return the equities of all pairs of cards on all rivers."""
    equities = np.empty((len(found.words), HOLES), np.uint16)

    def work(first: int, last: int) -> None:
        river_equities(found.words, first, last, equities)

    crew.share(work, len(found.words), BOARDS[5], "river equities")
    return RiverEquities(found.table, equities, *renamings())


def build_street(
    size: int, found: CardBoards, rivers: RiverEquities, count: int, *, seed: int, crew: ThreadCrew
) -> StreetBuckets:
    """Return the buckets of the flop or the turn, by the histograms of equities over all rivers to come.

    Args:
        size: The board's cards, 3 or 4.
        count: Number of buckets.
        seed: Seed of the sample of hands and of the initial centers.
    """
    random, name = np.random.default_rng([seed, size]), NAMES[size]
    sampled = max(SAMPLE, SAMPLE_PER_BUCKET * count) // len(found.words) + 1
    holes = random.integers(0, HOLES, (len(found.words), sampled), np.uint16)
    points = np.empty((*holes.shape, BINS), np.int16)

    def take(first: int, last: int) -> None:
        sample(rivers, found.words[first:last], size, holes[first:last], points[first:last])

    crew.share(take, len(holes), BOARDS[size], f"{name} sample")
    weights = found.weights[:, None] * (found.words[:, None] & HOLE_WORDS[holes] == 0)
    centres = cluster(points.reshape(-1, BINS), weights.ravel(), count, random, crew=crew, what=f"{name} centres")
    table = np.empty((len(found.words), HOLES), kind_of(len(centres)))

    def sort(first: int, last: int) -> tuple[Array, Array]:
        mass, sums = np.zeros(len(centres), np.int64), np.zeros(len(centres), np.int64)
        words, weights = found.words[first:last], found.weights[first:last]
        sort_in(rivers, words, weights, size, centres, table[first:last], mass, sums)
        return mass, sums

    parts = crew.share(sort, len(found.words), BOARDS[size], f"{name} buckets")
    mass, sums = (sum(part) for part in zip(*parts, strict=True))
    bins = sums / np.maximum(mass, 1) / (UNITS[size] * RUNOUTS[size])
    order = np.argsort(bins, kind="stable")  # the order of the sample's means may differ from that of all hands'
    names = np.argsort(order).astype(table.dtype)
    return street_of(names[table], count, mass[order], (bins[order] + 0.5) / BINS)


def build_river(found: CardBoards, rivers: RiverEquities, count: int, *, seed: int, crew: ThreadCrew) -> StreetBuckets:
    """Return the buckets of the river, by equity alone; the arguments are those of `build_street`."""
    counts = np.zeros(IMPOSSIBLE + 1, np.int64)
    count_equities(rivers.equities, found.weights, counts)
    points = np.zeros((FULL + 1, BINS), np.int16)
    points[:, 0] = np.arange(FULL + 1) * UNITS[5]
    weights = counts[: FULL + 1]
    dealt = weights > 0
    random = np.random.default_rng([seed, 5])
    centres = cluster(points[dealt], weights[dealt], count, random, crew=crew, what="river centres")
    totals = totals_of(centres)
    buckets = np.array([nearest(point, centres, totals)[0] for point in points] + [0], kind_of(len(centres)))
    table = np.empty(rivers.equities.shape, buckets.dtype)

    def work(first: int, last: int) -> None:
        translate(rivers.equities[first:last], buckets, table[first:last])

    crew.share(work, len(table), BOARDS[5], "river buckets")
    mass = np.bincount(buckets[:-1], weights, len(centres))
    sums = np.bincount(buckets[:-1], weights * np.arange(FULL + 1), len(centres))
    return street_of(table, count, mass, sums / np.maximum(mass, 1) / FULL)


def build(
    counts: tuple[int, int, int], seed: int, crew: ThreadCrew
) -> tuple[dict[int, CardBoards], dict[int, StreetBuckets]]:
    """Return all boards and the buckets on them, by their number of cards.

    Args:
        counts: Number of buckets on flop, turn and river.
        seed: Seed of the sampling; the buckets do not depend on the number of threads.
    """
    crew.progress("boards", 0.0)
    found = {size: boards(size) for size in NAMES}
    crew.progress("boards", 1.0)
    rivers = all_rivers(found[5], crew)
    streets = {
        size: build_street(size, found[size], rivers, count, seed=seed, crew=crew)
        for size, count in zip((3, 4), counts[:2], strict=True)
    }
    return found, streets | {5: build_river(found[5], rivers, counts[2], seed=seed, crew=crew)}
