"""The overhead of `watch` is measured on real trainings."""

import pytest

from pac.training.bench.watching import cpu_time, loop_turns, measurable, shares


def test_a_share_is_the_time_that_is_added_to_an_iteration():
    """Each pair has its own, on either clock."""
    plain, watched = ({"iterations": 10, "wall": wall, "cpu": 1.0} for wall in (1.0, 1.5))
    assert shares([(plain, watched), (plain, plain)], "wall") == pytest.approx([0.5, 0.0])
    assert shares([(plain, watched)], "cpu") == pytest.approx([0.0])


@pytest.mark.session
@pytest.mark.parametrize(
    ("loop", "attached"),
    [
        ("rows", False),
        *(pytest.param(loop, True, marks=pytest.mark.slow) for loop in measurable()),
    ],
)
def test_a_training_is_measured_with_and_without_watch(loop, attached):
    """Each turn has iterations and their time."""
    turns = loop_turns(loop, 0.05, 2, attached=attached)
    assert len(turns) == 2
    assert all(turn[name] > 0 for pair in turns for turn in pair for name in ("iterations", "wall", "cpu"))


@pytest.mark.slow
@pytest.mark.session
def test_the_cpu_time_of_a_script_is_measured(monkeypatch):
    """With its children, and only if it succeeds."""
    assert cpu_time(["/usr/bin/env"]) >= 0
