"""A local best response: its winnings against simple opponents are known, and never above those of a best response."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import BadParameter
from pac.envs.poker.small import kuhn, leduc, liars_dice
from pac.training.mccfr.playing.holdings import SmallHoldings
from pac.training.mccfr.playing.local_best_response import local_best_response
from pac.training.mccfr.solving.exact import nash_conv, normalised
from pac.training.mccfr.solving.full import Cfr

from ....examples import one_in

LEDUC = leduc(suits=False)


class Drawn(SmallHoldings):
    """The same hands, with deals that are sampled as in a large game."""

    exact = False


def bound(game, strategy):
    """Return the winnings of a local best response and of a best response, as means of both seats."""
    found = local_best_response(game, strategy, SmallHoldings(game), 0)
    assert (found.margin, found.hands) == (0, 0)
    return found.mean, nash_conv(game, strategy) / 2


@pytest.mark.thorough
@one_in(4)
@given(st.integers(0, 2**32 - 1))
def test_it_is_a_lower_bound(seed):
    """Against random strategies it wins more than nothing and at most what the best response wins."""
    local, best = bound(LEDUC, normalised(LEDUC, np.random.default_rng(seed).random(LEDUC.entries)))
    assert 0.5 < local <= best + 1e-9


def test_against_an_equilibrium_it_wins_nothing():
    """It loses, since it is not a best response."""
    cfr = Cfr(LEDUC, "cfr+")
    cfr.iterate(300)
    assert bound(LEDUC, cfr.average())[0] < 0.01


def test_against_a_player_who_always_folds_it_wins_the_ante():
    """In both seats and with every card."""
    game = kuhn()
    sums = np.zeros(game.entries)
    sums[::2] = 1  # check or fold
    local, best = bound(game, normalised(game, sums))
    assert local == pytest.approx(1.0)
    assert best == pytest.approx(1.0)


@pytest.mark.thorough
def test_drawn_hands_agree_with_all_hands():
    """Within three times the interval's half, whatever the number of threads."""
    strategy = normalised(LEDUC, np.random.default_rng(7).random(LEDUC.entries))
    exact = local_best_response(LEDUC, strategy, SmallHoldings(LEDUC), 0).mean
    one, two = (local_best_response(LEDUC, strategy, Drawn(LEDUC), 200, seed=3, threads=threads) for threads in (1, 2))
    assert one == two
    assert one.hands == 200
    assert one.mean == pytest.approx(exact, abs=1.5 * one.margin)


@pytest.mark.thorough
def test_progress_is_reported():
    """Rising to 1."""
    reported: list[float] = []
    local_best_response(LEDUC, np.full(LEDUC.entries, 0.5), Drawn(LEDUC), 20, on_progress=reported.append)
    assert reported == sorted(reported)
    assert reported[-1] == 1


def test_liars_dice_is_refused():
    """The error names it: a hand of this game cannot be checked down."""
    game = liars_dice(2)
    with pytest.raises(BadParameter, match="liars_dice"):
        local_best_response(game, np.full(game.entries, 0.5), SmallHoldings(game), 10)
