"""A sweep's order and its usual values of N."""

from hypothesis import given
from hypothesis import strategies as st

from pac.training.session.sweep import Sweep, usual_counts


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
