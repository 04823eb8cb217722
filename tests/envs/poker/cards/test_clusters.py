"""Clusters: the nearest centre, how it is found, and where centres come to lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pac.envs.poker.cards.clusters import cluster, moved, nearest, ordered, totals_of
from pac.envs.poker.cards.parallel import ThreadCrew

HEIGHTS = st.integers(0, 32_430)


def random_points(count, seed=3):
    """Return random points that fall from bin to bin, as those of histograms do."""
    heights = np.random.default_rng(seed).integers(0, 32_430, (count, 32))
    return -np.sort(-heights, axis=1).astype(np.int16)


def clustered(points, count, workers=1, weights=None):
    weights = np.ones(len(points), np.int64) if weights is None else weights
    with ThreadCrew(workers) as crew:
        return cluster(points, weights, count, np.random.default_rng(0), crew=crew, what="centres")


@given(arrays(np.int16, (12, 8), elements=HEIGHTS), arrays(np.int16, 8, elements=HEIGHTS))
def test_the_nearest_centre_is_nearest(points, point):
    """Looking only where it may lie finds a centre as near as any."""
    centres = ordered(points)
    found, away = nearest(point, centres, totals_of(centres))
    distances = np.abs(centres.astype(np.int64) - point).sum(axis=1)
    assert distances[found] == away == distances.min()


def test_groups_that_lie_apart_are_found():
    """Points around three that lie far apart make three clusters, whose centres are their means."""
    middles = random_points(3) // 2 + 500
    points = np.concatenate([middles + offset for offset in (-40, 0, 40)]).astype(np.int16)
    np.testing.assert_array_equal(clustered(points, 3), ordered(middles.astype(np.int16)))


def test_centres_come_to_rest_in_the_middle():
    """At the end no centre moves: each is the mean of the points nearest to it, and they rise in their sums."""
    points, weights = random_points(300), np.arange(1, 301)
    centres = clustered(points, 6, weights=weights)
    with ThreadCrew(1) as crew:
        np.testing.assert_array_equal(moved(points, weights, centres, crew), centres)
    assert (np.diff(totals_of(centres)) > 0).all()


def test_a_heavy_point_draws_its_centre():
    """A point that stands for many hands counts as so many points."""
    points = random_points(40)
    weights = np.ones(40, np.int64)
    weights[7] = 5
    repeated = np.concatenate([points, *[points[7:8]] * 4])
    centres = clustered(repeated, 1)
    np.testing.assert_array_equal(clustered(points, 1, weights=weights), centres)
    assert not np.array_equal(clustered(points, 1), centres)


@pytest.mark.thorough
def test_any_number_of_threads_gives_the_same():
    """The centres don't depend on how many threads shared the work."""
    points = random_points(20_000)
    alone = clustered(points, 9)
    for workers in (2, 5):
        np.testing.assert_array_equal(clustered(points, 9, workers), alone)


def test_there_are_no_more_centres_than_different_points():
    """Of four different points come four clusters, however many are wanted."""
    points = np.repeat(random_points(4), 10, axis=0)
    np.testing.assert_array_equal(clustered(points, 9), ordered(points))
