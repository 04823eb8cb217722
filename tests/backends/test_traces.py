"""The same games on every backend, byte for byte; and what is said where they are not."""

from __future__ import annotations

import pytest

from pac.backends import BACKENDS, BackendUnavailable
from pac.envs import BadParameter
from pac.training.bench.backends.traces import compare_traces


@pytest.mark.session
def test_a_few_games_are_the_same_everywhere():
    """Same seed, same actions: no byte differs, on any backend that can play them; others are absent with a reason."""
    found = compare_traces("faulty:Counter", games=3, num_envs=3)
    assert found["difference"] is None
    assert (found["games"], found["steps"], found["num_envs"]) == (3, 7, 3)
    assert {row["transport"] for row in found["rows"]} == set(BACKENDS) - {"threads", "device"}
    assert found["absent"].keys() == {"threads", "device"}
    assert "GIL" in found["absent"]["threads"]
    assert len({row["hash"] for row in found["rows"]}) == 1
    assert all(row["identical"] for row in found["rows"])


@pytest.mark.parametrize("spec", ["autochess", "autochess:players=8"])
@pytest.mark.slow
def test_the_auto_battler_is_the_same_everywhere(spec):
    """Eight seats that learn, or one against bots: no byte differs."""
    found = compare_traces(spec, games=2, num_envs=2)
    assert found["difference"] is None
    assert found["games"] >= 2


def test_the_seed_makes_the_trace():
    """Other seeds give other hashes."""
    hashes = [
        compare_traces("kuhn", games=9, num_envs=1, seed=seed, backends=["threads"])["rows"][0]["hash"]
        for seed in (1, 1, 2)
    ]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.session
def test_the_first_difference_is_named():
    """An environment that depends on its process differs at its first observation, and play stops there."""
    found = compare_traces("faulty:Whimsical", games=5, num_envs=2, backends=["shm"])
    assert found["difference"] == {"transport": "shm", "step": 0, "field": "observation", "environment": 0}
    assert found["steps"] == 0
    assert [row["identical"] for row in found["rows"]] == [True, False]


def test_a_comparison_that_cannot_be_made():
    """A backend that was asked for must run, and there must be a game."""
    with pytest.raises(BackendUnavailable, match="threads"):
        compare_traces("faulty:Counter", games=1, backends=["threads"])
    with pytest.raises(BadParameter, match="at least 1, got 0"):
        compare_traces(games=0)
