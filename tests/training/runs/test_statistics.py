"""Statistics over seeds: equal to rliable's where they are the same, and intervals that cover the truth."""

import numpy as np
import pytest

from pac.training.runs.statistics import (
    interquartile_mean,
    interval_of_improvement,
    interval_of_iqm,
    probability_of_improvement,
    student_quantile,
)


def test_figures_equal_those_of_rliable():
    """Of nine and of seven runs on three tasks, as rliable 1.2 computes them from the same scores."""
    generator = np.random.default_rng(47)
    x, y = generator.normal(1.0, 2.0, (9, 3)).round(1), generator.gamma(2.0, 1.0, (7, 3)).round(1)
    assert interquartile_mean(x.ravel()) == pytest.approx(0.9600000000000001, abs=1e-6)
    assert interquartile_mean(y.ravel()) == pytest.approx(1.4909090909090912, abs=1e-6)
    assert probability_of_improvement([*x.T], [*y.T]) == pytest.approx(0.37566137566137564, abs=1e-6)
    assert probability_of_improvement([*y.T], [*x.T]) == pytest.approx(0.6243386243386243, abs=1e-6)


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.7062), (2, 4.3027), (5, 2.5706), (10, 2.2281), (100, 1.984)])
def test_the_quantile_is_that_of_students_t(freedom, quantile):
    """As in its tables."""
    assert student_quantile(freedom) == pytest.approx(quantile, abs=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_the_interval_covers_the_truth_as_often_as_it_says(seeds, monkeypatch):
    """The interval of 95 % covers it in 92 to 98 % of 1,000 simulations, of normal and of skewed scores."""
    monkeypatch.setattr("pac.training.runs.statistics.RESAMPLES", 500)
    generator = np.random.default_rng(seeds)
    for draw in (lambda count: generator.normal(size=(count,)), lambda count: generator.gamma(2.0, 1.0, (count,))):
        truth = interquartile_mean(draw(200_000))
        intervals = [interval_of_iqm([draw(seeds)]) for _ in range(1000)]
        assert 0.92 <= np.mean([ends is not None and ends[0] <= truth <= ends[1] for ends in intervals]) <= 0.98


@pytest.mark.thorough
def test_the_interval_of_the_improvement_covers_the_truth(monkeypatch):
    """Of ten seeds each, of which one is better in 69 % of all pairs."""
    monkeypatch.setattr("pac.training.runs.statistics.RESAMPLES", 500)
    generator = np.random.default_rng(47)
    truth = 0.6914625  # of two normal scores whose difference is half its own deviation
    found = [
        interval_of_improvement([generator.normal(0.5**0.5, 1, 10)], [generator.normal(0, 1, 10)]) for _ in range(1000)
    ]
    assert 0.92 <= np.mean([ends is not None and ends[0] <= truth <= ends[1] for ends in found]) <= 0.98


def test_a_single_seed_has_no_interval():
    """Nothing is known of how much another one would differ."""
    assert interval_of_iqm([np.ones(1)]) is None
    assert interval_of_improvement([np.ones(1)], [np.zeros(3)]) is None
    assert interval_of_improvement([np.arange(5.0) + 9], [np.arange(5.0)]) is None
