"""The next number of environments, the order of a sweep, and its usual values of N."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.training.session.num_envs_planner import NumEnvsDecision, NumEnvsPlanner, Sweep, usual_counts
from pac.training.telemetry.throughput import Mark, Throughput
from pac.training.units import SOLVED, STEPPED


def test_a_sweep_measures_its_counts_and_returns_home():
    """Each for so many seconds, in addition to what was measured before."""
    sweep = Sweep((1, 2, 4), home=8, seconds=4.0)
    assert (sweep.wanted, sweep.message) == (1, "measuring num_envs=1 (1 of 3)")
    sweep.known = 100.0
    assert sweep.progress(101.0) == 0.25
    assert sweep.progress(105.0) == 1.0
    assert (sweep.next(), sweep.wanted) == (2, 2)
    sweep.known = 0.0
    assert sweep.progress(2.0) == 0.5
    assert sweep.next() == 4
    assert (sweep.next(), sweep.wanted) == (None, 8)


@given(st.integers(1, 100_000))
def test_usual_counts_double_and_include_the_present_one(num_envs):
    """From 1, up to twice as many."""
    counts = usual_counts(num_envs)
    assert counts[0] == 1
    assert num_envs in counts
    assert num_envs < counts[-1] <= 2 * num_envs
    assert list(counts) == sorted(set(counts))


@pytest.fixture
def trained():
    """Return a function that trains for 10 s with an N, at N frames per second, and returns what was measured."""
    throughput = Throughput()

    def train(num_envs):
        throughput.reset(num_envs, Mark(0.0, 0, 0))
        for second in range(11):
            throughput.add(Mark(float(second), num_envs * second, second))
        return throughput

    return train


def test_without_a_request_the_number_of_environments_stays(trained):
    """A request is returned once."""
    planner = NumEnvsPlanner(4, STEPPED)
    assert planner.decide(4, trained(4)).num_envs == 4
    planner.request(7)
    assert planner.decide(4, trained(4)).num_envs == 7
    assert planner.decide(7, trained(7)).num_envs == 7


def test_a_measured_baseline_is_reported_and_n_follows(trained):
    """With the trainer's unit of speed."""
    planner = NumEnvsPlanner(4, SOLVED)
    assert planner.first(baseline=True) == 1
    assert planner.measure(0.0, measured=0.0) == "measuring num_envs=1"
    decision = planner.decide(1, trained(1))
    assert decision == NumEnvsDecision(4, measures=True, progress=1.0, results=("baseline: 1 it/s at num_envs=1",))
    assert not planner.sweeping


def test_a_sweep_continues_with_the_same_n(trained):
    """The session measures again although it does not restart."""
    planner = NumEnvsPlanner(4, STEPPED)
    planner.request_sweep((4,), home=4, seconds=2.0)
    decision = planner.decide(4, trained(4))
    assert (decision.num_envs, decision.measures) == (4, True)
    assert planner.measure(10.0, measured=10.0) == "measuring num_envs=4"
    assert planner.decide(4, trained(4)).measures
    assert planner.measure(25.0, measured=20.0) == ""
    assert planner.sweep_seconds(30.0) == 15.0


def test_an_impossible_number_ends_a_sweep():
    """The session returns home; without a sweep, to the previous number. Another request ends a sweep, too."""
    planner = NumEnvsPlanner(4, STEPPED)
    planner.request_sweep((2,), home=4, seconds=2.0)
    planner.request(3)
    assert (planner.sweeping, planner.home) == (False, None)
    planner.request_sweep((100,), home=4, seconds=2.0)
    assert planner.fall_back(before=2) == 4
    assert planner.fall_back(before=2) == 2
