"""Envelopes of short trainings."""

import json

import pytest

from .envelopes import FILE, KINDS, STEPS, check_envelopes, comparison_of, envelope_of


def test_an_envelope_is_wider_than_the_recorded_curves():
    """By half of the range over seeds at each point, and by a share of the whole range where seeds agree."""
    curves = [[{"steps": 10, "mean": first}, {"steps": 20, "mean": 20.0}] for first in (2.0, 4.0)]
    first, second = envelope_of(curves)
    assert (first["low"], first["high"]) == (1, 5)
    assert (second["low"], second["high"]) == pytest.approx((19.1, 20.9))


def test_every_task_has_an_envelope_for_each_kind_of_training():
    """The file has the tasks that are checked, and points in the order of the training."""
    envelopes = json.loads(FILE.read_text())
    assert set(envelopes) == set(STEPS)
    for kinds in envelopes.values():
        assert set(kinds) == set(KINDS)
        for points in kinds.values():
            steps = [point["steps"] for point in points]
            assert steps == sorted(steps)


def test_overlap_learns_equally_if_medians_differ_by_less_than_seeds_do():
    """The range is the larger of both, and an equal difference is too much."""
    found = comparison_of([1.0, 2.0, 4.0], [3.0, 4.0, 4.0])
    assert found == {"difference": 2, "seed_range": 3, "equal": True}
    assert not comparison_of([1.0, 2.0, 4.0], [5.0, 5.0, 6.0])["equal"]


@pytest.mark.slow
@pytest.mark.parametrize("task", STEPS)
def test_curves_stay_within_their_envelopes(task: str):
    """PPO learns as recorded, with and without overlap."""
    found = check_envelopes(tasks=[task], progress=lambda _text, _share: None)
    assert found["within"], found
