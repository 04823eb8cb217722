"""Estimates from parts, with an interval that known luck does not widen."""

import numpy as np
import pytest

from pac.training.mccfr.playing.estimate import Z_95, Estimate


def test_the_interval_is_that_of_a_mean():
    """It contains 95 % of a normal distribution; each result has the weight of its hands."""
    results, random = np.array([1.0, 3.0, 5.0, 7.0]), np.random.default_rng(0)
    found = Estimate.of(results, each=2)
    assert (found.mean, found.hands) == (4, 8)
    assert found.margin == pytest.approx(Z_95 * results.std(ddof=1) / 2)
    estimates = [Estimate.of(random.normal(1.0, 3.0, 100)) for _ in range(2000)]
    assert 0.93 < np.mean([abs(found.mean - 1.0) <= found.margin for found in estimates]) < 0.97


def test_known_luck_is_subtracted():
    """The expected mean is the same, and the interval is that of the remainder."""
    random = np.random.default_rng(0)
    luck, rest = random.normal(0, 10, 4000), random.normal(2, 1, 4000)
    plain, found = Estimate.of(rest + 3 * luck), Estimate.of(rest + 3 * luck, luck=luck)
    assert found.margin == pytest.approx(Estimate.of(rest).margin, rel=0.01)
    assert found.margin < plain.margin / 20
    assert abs(found.mean - 2) < found.margin


@pytest.mark.parametrize("count", [2, 20, 200])
def test_uncorrelated_luck_changes_nothing(count):
    """Luck of zero, or few results."""
    results = np.random.default_rng(1).normal(0, 1, count)
    assert Estimate.of(results, luck=np.zeros(count)) == Estimate.of(results)
    if count < 30:
        assert Estimate.of(results, luck=results) == Estimate.of(results)
