"""Exact algorithms, compared with published values and those of OpenSpiel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import UnknownName
from pac.envs.poker.game import PokerGame
from pac.envs.poker.small import kuhn, leduc, liars_dice
from pac.training.mccfr.solving.exact import average_strategy, best_response, game_value, nash_conv, normalised
from pac.training.mccfr.solving.full import VARIANTS, Cfr
from pac.training.mccfr.solving.public_tree import TooManyDeals

from ....examples import one_in

GAMES = {"kuhn": kuhn(), "leduc": leduc(), "leduc_ranks": leduc(suits=False), "liars_dice": liars_dice()}
KNOWN = [
    ("kuhn", "cfr", 0.137397588, 0.016451955),
    ("kuhn", "cfr+", 0.065374181, 0.002388808),
    ("kuhn", "dcfr", 0.045557568, 0.003332684),
    ("kuhn", "lcfr", 0.042501, 0.002178),
    ("leduc", "cfr", 1.777157966, 0.191432706),
    ("leduc", "cfr+", 1.220877803, 0.026831990),
    ("leduc", "dcfr", 1.557604, None),
    ("leduc", "lcfr", 1.442130, None),
    ("leduc_ranks", "cfr+", 1.220877803, 0.026831990),
    pytest.param("liars_dice", "cfr", 0.367851, 0.044919, marks=pytest.mark.thorough),
    pytest.param("liars_dice", "cfr+", 0.283203, 0.009817, marks=pytest.mark.thorough),
]


def solved(name, iterations, variant="cfr+"):
    """Return the average strategy after some iterations."""
    cfr = Cfr(GAMES[name], variant)
    cfr.iterate(iterations)
    return cfr.average()


@pytest.mark.parametrize(("name", "variant", "ten", "hundred"), KNOWN)
def test_nash_conv_after_10_and_100_iterations(name, variant, ten, hundred):
    """The sequence is deterministic; these digits are known."""
    cfr = Cfr(GAMES[name], variant)
    cfr.iterate(10)
    digits = 1e-9 if len(str(ten)) > 9 else 1e-6
    assert nash_conv(GAMES[name], cfr.average()) == pytest.approx(ten, abs=digits)
    cfr.iterate(90)
    if hundred is not None:
        assert nash_conv(GAMES[name], cfr.average()) == pytest.approx(hundred, abs=digits)


@pytest.mark.parametrize(
    ("name", "iterations", "value"),
    [
        ("kuhn", 20_000, -1 / 18),
        ("leduc", 3_000, -0.085606424),
        pytest.param("liars_dice", 150, -0.027131783, marks=pytest.mark.thorough),
    ],
)
def test_the_value_of_a_game(name, iterations, value):
    """The value of player 0 is between the bounds that the two players can guarantee."""
    game, strategy = GAMES[name], solved(name, iterations)
    first, second = (best_response(game, strategy, player)[0] for player in range(2))
    assert -second <= value + 1e-9
    assert value - 1e-9 <= first
    assert first + second < 0.01
    assert game_value(game, strategy) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(
    "name", ["kuhn", "leduc", "leduc_ranks", pytest.param("liars_dice", marks=pytest.mark.thorough)]
)
@one_in(4)
@given(st.integers(0, 2**32))
def test_a_best_response_is_best(name, seed):
    """It wins what it computes, and at least as much as the strategy itself or another one."""
    game = GAMES[name]
    sums = np.random.default_rng(seed).random((2, game.entries))
    strategy, other = (normalised(game, each) for each in sums)
    for player, sign in ((0, 1), (1, -1)):
        won, response = best_response(game, strategy, player)
        assert sign * game_value(game, response) == pytest.approx(won)
        own = response != strategy
        assert won >= sign * game_value(game, strategy)
        assert won >= sign * game_value(game, np.where(own, other, strategy)) - 1e-12


def test_nothing_learned_is_uniform():
    """Rows without a sum are uniform, and every row's probabilities sum to 1."""
    game = GAMES["leduc"]
    strategy = average_strategy(game, np.zeros((game.entries, 2), np.float32))
    assert set(np.round(1 / strategy).astype(int)) == {2, 3}
    assert strategy.sum() == pytest.approx(game.rows)


def test_a_large_game_and_an_unknown_variant_are_refused():
    """The errors say that it has too many deals, and list the known variants."""
    game = PokerGame("large", GAMES["kuhn"].tree, (3,))
    with pytest.raises(TooManyDeals, match="large has too many deals"):
        nash_conv(game, np.zeros(game.entries))
    with pytest.raises(TooManyDeals):
        Cfr(game)
    with pytest.raises(UnknownName, match="dcfr"):
        Cfr(GAMES["kuhn"], "cfr++")
    assert len(VARIANTS) == 4
