"""Two strategies of a poker game: where they differ, weighted by how often that is reached."""

import json

import numpy as np
import pytest

from pac.envs import BadParameter, UnknownName
from pac.envs.poker.small import kuhn
from pac.envs.trust import accept
from pac.training.compare.strategies import compare_strategies, spots_of
from pac.training.mccfr.playing.matches import bot

from ..mccfr.solved import solved


def test_where_two_strategies_differ(tmp_path):
    """Distances are weighted by the reach; the sum over all is how often they decide differently per hand."""
    solved(tmp_path, "good")
    solved(tmp_path, "poor", iterations=2)
    found = compare_strategies(("good", "poor"), tmp_path, accept)
    assert found.exact
    assert found.nash_conv is not None
    assert found.nash_conv[0] < found.nash_conv[1]
    weighted = [spot.weighted for spot in found.spots]
    assert weighted == sorted(weighted, reverse=True)
    assert sum(weighted) == pytest.approx(found.distance)
    assert json.loads(json.dumps(found.plain()))["spots"][0]["weighted"] == weighted[0]
    same = compare_strategies(("good", "good"), tmp_path, accept)
    assert same.distance == 0.0
    assert not same.spots
    assert same.won.mean == pytest.approx(0.0)


def test_the_reach_is_that_of_both():
    """A first decision is reached in a third of all hands; after a bet, as often as the two bet, on average."""
    game = kuhn()
    assert game.deals is not None
    strategies = bot(game, "uniform"), bot(game, "call")
    distance, spots = spots_of(game, strategies, game.deals.bucket, np.full(6, 1 / 6))
    first = [spot for spot in spots if spot.history == "·"]
    assert [spot.reach for spot in first] == pytest.approx([1 / 3] * 3)
    assert [spot.distance for spot in first] == pytest.approx([0.5] * 3)
    after = [spot for spot in spots if spot.history == "b"]
    assert [spot.reach for spot in after] == pytest.approx([(0.5 + 0) / 2 / 3] * 3)
    assert distance == pytest.approx(sum(spot.weighted for spot in spots))


def test_other_games_and_names_are_refused(tmp_path):
    """The error names both games, or the names that are known."""
    solved(tmp_path, "one")
    solved(tmp_path, "other", "leduc", iterations=1)
    with pytest.raises(BadParameter, match="one on kuhn and other on leduc"):
        compare_strategies(("one", "other"), tmp_path, accept)
    with pytest.raises(UnknownName, match="unknown strategy 'two'"):
        compare_strategies(("one", "two"), tmp_path, accept)
