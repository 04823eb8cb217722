"""Matches: computed, played and known results agree."""

import numpy as np
import pytest

from pac.envs import BadParameter, UnknownName
from pac.envs.poker.small import kuhn, leduc, liars_dice
from pac.training.mccfr.playing.holdings import SmallHoldings
from pac.training.mccfr.playing.matches import (
    BOTS,
    ResolvingPlayer,
    StrategyPlayer,
    bot,
    exact_match,
    match,
    player_match,
)
from pac.training.mccfr.playing.resolving import Resolver, ResolverSettings
from pac.training.mccfr.solving.exact import best_response, nash_conv, normalised
from pac.training.mccfr.solving.full import Cfr

LEDUC = leduc(suits=False)
GAMES = {"kuhn": kuhn(), "leduc": LEDUC, "liars_dice": liars_dice(3)}


class Drawn(SmallHoldings):
    """The same hands, with deals that are sampled as in a large game."""

    exact = False

    def deals(self, board, ranges, most, random):
        """Return some of all deals, each with the same probability."""
        every = super().deals(board, ranges, most, random)
        some = random.integers(len(every.hands), size=most)
        return type(every)(every.hands[some], every.bucket[some], every.sign[some], np.full(most, 1 / most))


def drawn(game, seed):
    """Return a random strategy."""
    return normalised(game, np.random.default_rng(seed).random(game.entries))


@pytest.mark.parametrize("name", GAMES)
def test_a_match_with_oneself_is_even(name):
    """Over both seats, a player wins nothing against itself."""
    strategy = drawn(GAMES[name], 1)
    assert exact_match(GAMES[name], strategy, strategy).mean == pytest.approx(0, abs=1e-12)


def test_a_best_response_wins_half_of_nash_conv():
    """As the mean of both seats."""
    strategy = drawn(LEDUC, 2)
    first, second = (best_response(LEDUC, strategy, player)[1] for player in range(2))
    both = np.where(first != strategy, first, second)
    assert exact_match(LEDUC, both, strategy).mean == pytest.approx(nash_conv(LEDUC, strategy) / 2)


def test_played_hands_agree_with_all_deals():
    """Within three times the interval's half; the number of threads changes nothing."""
    one, other = drawn(LEDUC, 3), drawn(LEDUC, 4)
    exact = exact_match(LEDUC, one, other)
    assert (exact.margin, exact.hands) == (0, 0)
    alone, many = (match(LEDUC, one, other, Drawn(LEDUC), 30_000, threads=threads) for threads in (1, 3))
    assert alone == many
    assert alone.hands == 30_000
    assert alone.mean == pytest.approx(exact.mean, abs=1.5 * alone.margin)


@pytest.mark.thorough
def test_players_who_decide_at_each_step_agree_too():
    """Both follow strategies, so their expected winnings are known, whatever the estimated values of hands."""
    one, other, holdings = drawn(LEDUC, 5), bot(LEDUC, "call"), SmallHoldings(LEDUC)
    first, second = (StrategyPlayer(LEDUC, strategy, holdings) for strategy in (one, other))
    for guess in (one, other, drawn(LEDUC, 6)):
        found = player_match(LEDUC, first, second, holdings, 500, guess=guess, threads=2)
        assert found.hands == 500
        assert found.mean == pytest.approx(exact_match(LEDUC, one, other).mean, abs=1.5 * found.margin)


def test_estimated_play_leaves_no_luck():
    """Two players who follow the estimate win nothing from each other, and the interval is empty."""
    strategy, holdings = drawn(LEDUC, 5), SmallHoldings(LEDUC)
    player = StrategyPlayer(LEDUC, strategy, holdings)
    found = player_match(LEDUC, player, player, holdings, 40, guess=strategy)
    assert (found.mean, found.margin) == pytest.approx((0, 0), abs=1e-9)


def test_a_resolver_can_play():
    """It plays whole hands and wins against a uniform player."""
    cfr, holdings, blind = Cfr(LEDUC, "cfr+"), SmallHoldings(LEDUC), bot(LEDUC, "uniform")
    cfr.iterate(5)
    chosen = ResolverSettings.read("resolver", {"iterations": 3, "time_budget_ms": 60_000.0})
    thinker = ResolvingPlayer(Resolver(LEDUC, cfr.average(), holdings, chosen))
    other = StrategyPlayer(LEDUC, blind, holdings)
    found = player_match(LEDUC, thinker, other, holdings, 40, guess=blind, threads=2)
    assert found.mean + found.margin > 0


@pytest.mark.parametrize("name", BOTS)
def test_bots_have_whole_strategies(name):
    """Every row sums to 1."""
    strategy = bot(LEDUC, name)
    assert strategy == pytest.approx(normalised(LEDUC, strategy))


def test_winnings_that_are_known():
    """Who folds loses one chip per hand to who always bets.

    In Kuhn poker half of the answers of a uniform player to a bet are folds, for one chip each. The first player always
    gets an answer; the second one bets only where the other has checked, half of the time.
    """
    game = GAMES["kuhn"]
    bets = normalised(game, np.tile([0.0, 1.0], game.entries // 2))
    assert exact_match(game, bot(game, "fold"), bets).mean == pytest.approx(-1)
    assert exact_match(game, bot(game, "allin"), bot(game, "uniform")).mean == pytest.approx((0.5 + 0.25) / 2)


@pytest.mark.parametrize("hands", [3, 7])
def test_a_match_of_an_odd_number_of_hands_is_refused(hands):
    """Every deal is played from both seats; one deal alone has no interval. Unknown bots are refused, too."""
    strategy = bot(LEDUC, "call")
    player = StrategyPlayer(LEDUC, strategy, SmallHoldings(LEDUC))
    with pytest.raises(BadParameter, match=rf"must be even.*{hands}"):
        match(LEDUC, strategy, strategy, Drawn(LEDUC), hands)
    with pytest.raises(BadParameter, match=rf"must be even.*{hands}"):
        player_match(LEDUC, player, player, SmallHoldings(LEDUC), hands, guess=strategy)
    with pytest.raises(UnknownName, match="uniform"):
        bot(LEDUC, "shark")
