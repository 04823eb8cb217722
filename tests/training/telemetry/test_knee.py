"""Up to which N more environments are worth it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.training.telemetry.knee import Knee, find_knee, marginal_efficiencies
from pac.training.telemetry.snapshot import Scaling


def measured(*points, spread=0.0, samples=4):
    """Measurements at N and fps, whose windows lie up to `spread` fps around the median."""
    return [Scaling(n, fps, fps - spread, fps + spread, samples, 2.0 * samples) for n, fps in points]


def knee_of(points) -> Knee:
    """The knee of measurements that have one."""
    found = find_knee(points)
    assert found is not None
    return found


USUAL = ((1, 100.0), (2, 190.0), (4, 300.0), (8, 380.0))


def test_the_knee_is_the_last_row_before_an_added_environment_brings_less_than_half():
    """Half of what one alone does."""
    points = measured(*USUAL)
    assert marginal_efficiencies(points) == [100.0, 90.0, 55.0, 20.0]
    found = knee_of(points)
    assert (found.num_envs, found.least, found.most, found.following) == (4, 4, 4, 8)
    assert found.sentence == "up to N = 4, an added environment brings at least half of what one alone does"


def test_a_row_that_is_not_worth_it_ends_the_knee_whatever_comes_later():
    """A later row may bring more, for instance after a dip caused by another program."""
    points = measured((1, 100.0), (2, 105.0), (4, 300.0))
    assert marginal_efficiencies(points) == [100.0, 5.0, 97.5]
    assert knee_of(points).num_envs == 1
    assert knee_of(points).sentence == "at N = 2, an added environment brings less than half of what one alone does"


def test_a_figure_that_is_shown_as_half_counts_as_half():
    """The table shows whole percents; the knee follows from what it shows."""
    assert knee_of(measured((1, 1000.0), (2, 1496.0))).num_envs == 2
    assert knee_of(measured((1, 1000.0), (2, 1494.0))).num_envs == 1


def test_noise_gives_an_interval():
    """Where rows are about half, the measurements cannot tell which N is the knee."""
    found = knee_of(measured(*USUAL, spread=10.0))
    assert (found.num_envs, found.least, found.most) == (4, 2, 4)
    assert found.sentence.endswith("the measurements vary so much that the knee is anywhere from N = 2 to 4")


def test_more_measurements_narrow_the_interval():
    """The median of many windows is known better than any of them."""
    few, many = (knee_of(measured(*USUAL, spread=10.0, samples=samples)) for samples in (4, 100))
    assert few.least < many.least == many.most == 4


@pytest.mark.parametrize("points", [(), ((1, 100.0),), ((2, 100.0), (4, 200.0)), ((1, 0.0), (2, 100.0))])
def test_there_is_no_knee_without_one_environment_and_others(points):
    """Nor where one alone does nothing."""
    assert find_knee(measured(*points)) is None


@given(st.lists(st.tuples(st.integers(1, 40), st.floats(1, 1e5), st.floats(0, 1e5), st.integers(1, 9)), min_size=1))
def test_the_interval_holds_the_knee(rows):
    """Whatever was measured, however it varies."""
    counts = [1]
    for step, *_ in rows[1:]:
        counts.append(counts[-1] + step)
    points = [
        Scaling(count, fps, max(0.0, fps - spread), fps + spread, samples, 2.0)
        for count, (_, fps, spread, samples) in zip(counts, rows, strict=True)
    ]
    found = find_knee(points)
    assert (found is None) == (len(points) == 1)
    assert found is None or found.least <= found.num_envs <= found.most
