"""A sweep's order, and where more environments are no longer worth it."""

from hypothesis import given
from hypothesis import strategies as st

from pac.training.session.sweep import Sweep, usual_counts
from pac.training.telemetry.throughput import knee, marginal_efficiencies


def test_a_sweep_goes_through_its_counts_and_home():
    """Each for its seconds, whatever was measured there before."""
    sweep = Sweep((1, 2, 4), home=8, seconds=4.0)
    assert (sweep.wanted, sweep.message) == (1, "measuring num_envs=1 (1 of 3)")
    sweep.begin(100.0)
    assert sweep.progress(101.0) == 0.25
    assert sweep.progress(105.0) == 1.0
    assert (sweep.next(), sweep.wanted) == (2, 2)
    sweep.begin(0.0)
    assert sweep.progress(2.0) == 0.5
    assert sweep.next() == 4
    assert (sweep.next(), sweep.wanted) == (None, 8)


@given(st.integers(1, 100_000))
def test_usual_counts_double_and_hold_the_present_one(num_envs):
    """From 1, up to twice as many."""
    counts = usual_counts(num_envs)
    assert counts[0] == 1
    assert num_envs in counts
    assert num_envs < counts[-1] <= 2 * num_envs
    assert list(counts) == sorted(set(counts))


def test_the_knee_is_where_an_added_environment_brings_half():
    """Of what one alone does."""
    points = [(1, 100.0), (2, 190.0), (4, 300.0), (8, 380.0)]
    assert marginal_efficiencies(points) == [100.0, 90.0, 55.0, 20.0]
    assert knee(points) == 4
    assert knee([*points, (16, 400.0)]) == 4
    assert knee([(1, 100.0), (2, 90.0)]) == 1


def test_without_one_alone_there_is_no_knee():
    """Nor with nothing else."""
    assert knee([]) is None
    assert knee([(1, 100.0)]) is None
    assert knee([(2, 100.0), (4, 200.0)]) is None
