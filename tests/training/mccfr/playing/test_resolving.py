"""Re-solving, measured exactly: the strategy of a resolver that re-solves every decision."""

from functools import cache
from itertools import count

import numpy as np
import pytest

from pac.envs.poker.small import kuhn, leduc
from pac.envs.poker.tree import DECISION
from pac.training.mccfr.playing.holdings import SmallHoldings
from pac.training.mccfr.playing.ranges import ranges
from pac.training.mccfr.playing.resolving import Resolver, ResolverSettings
from pac.training.mccfr.playing.subgame import subtree
from pac.training.mccfr.solving.exact import nash_conv
from pac.training.mccfr.solving.full import Cfr

GAMES = {"kuhn": kuhn(), "leduc": leduc(suits=False)}
HOUR = 3_600_000.0


@cache
def blueprint(name, iterations):
    """Return the strategy after a number of iterations of CFR+."""
    cfr = Cfr(GAMES[name], "cfr+")
    cfr.iterate(iterations)
    return cfr.average()


def resolver(name, trained, **settings):
    """Return a resolver without a time limit."""
    game = GAMES[name]
    chosen = ResolverSettings.read("resolver", {"time_budget_ms": HOUR, "iterations": 20, **settings})
    return Resolver(game, blueprint(name, trained), SmallHoldings(game), chosen)


@pytest.mark.parametrize("name", GAMES)
def test_a_share_of_zero_is_the_blueprint(name):
    """With alpha 0 nothing changes."""
    assert (resolver(name, 10, policy_blend_alpha=0).strategy_with() == blueprint(name, 10)).all()


@pytest.mark.thorough
def test_it_improves_a_poor_blueprint():
    """Re-solving makes a strategy that has not converged less exploitable."""
    before = nash_conv(GAMES["leduc"], blueprint("leduc", 10))
    after = nash_conv(GAMES["leduc"], resolver("leduc", 10, policy_blend_alpha=0.35).strategy_with())
    assert after < 0.93 * before


@pytest.mark.thorough
@pytest.mark.parametrize("trained", [100, 300, 1_000, 3_000])
def test_it_leaves_a_good_blueprint_good(trained):
    """A strategy near the equilibrium stays near it: what best responses would exploit is not used."""
    before = nash_conv(GAMES["leduc"], blueprint("leduc", trained))
    after = nash_conv(GAMES["leduc"], resolver("leduc", trained).strategy_with())
    assert after < 1.1 * before + 1e-4


@pytest.mark.thorough
def test_trusting_the_opponent_can_be_exploited():
    """A strategy that only responds to the blueprint is more exploitable, so it is not the default."""
    light, trusting = (
        nash_conv(GAMES["leduc"], resolver("leduc", 100, iterations=10, range_update_mode=mode).strategy_with())
        for mode in ("bayes_light", "bayes")
    )
    assert trusting > light + 0.1


@pytest.mark.thorough
def test_a_game_of_one_street_is_solved_to_its_end():
    """Kuhn poker re-solved at every decision is hardly exploitable, although the blueprint is uniform."""
    found = resolver("kuhn", 1, policy_blend_alpha=1, max_depth=3, iterations=500)
    assert nash_conv(GAMES["kuhn"], found.strategy_with()) < nash_conv(GAMES["kuhn"], blueprint("kuhn", 1)) / 2.9


def second_street():
    """Return the first decision of Leduc's second street."""
    tree = GAMES["leduc"].tree
    return int(np.flatnonzero((tree.kind == DECISION) & (tree.street == 1))[0])


def test_probabilities_are_those_of_possible_hands():
    """They sum to 1, and hands that share a card with the board have none."""
    sums = resolver("leduc", 10).resolve(second_street(), (2,)).probabilities.sum(axis=1)
    assert sums == pytest.approx([1, 1, 0, 1, 1, 1])


def test_it_stops_at_its_time_limit():
    """With a clock that counts its calls, ten calls permit fewer iterations than the limit."""
    ticks = count()
    game = GAMES["leduc"]
    chosen = ResolverSettings(time_budget_ms=10_000)
    thinking = Resolver(game, blueprint("leduc", 10), SmallHoldings(game), chosen, clock=lambda: float(next(ticks)))
    assert 1 <= thinking.resolve(second_street(), (0,)).iterations <= 10


def test_raises_beyond_the_limit_are_not_searched():
    """They keep the blueprint's probabilities, scaled by its share."""
    tree, node = GAMES["leduc"].tree, second_street()
    found = resolver("leduc", 10, max_raises_per_street=0, policy_blend_alpha=0.5).resolve(node, (0,))
    assert [action.name for action in tree.actions_of(node)] == ["check", "bet"]
    assert found.probabilities[1:, 1] == pytest.approx(found.blueprint[1:, 1] / 2)


def test_ranges_follow_from_the_actions():
    """A player who folds jacks does not hold them after a call; the range sums to 1 without the open card."""
    game = GAMES["leduc"]
    strategy = np.full(game.entries, 0.5)
    root = game.tree.below(0, 0)
    for bucket in range(3):  # a bet with kings alone
        entry = game.entry(0, bucket)
        strategy[entry : entry + 2] = (0.0, 1.0) if bucket == 2 else (1.0, 0.0)
    held = ranges(game, strategy, SmallHoldings(game), root, ())
    assert held[0] == pytest.approx([0.25] * 4 + [0, 0])
    assert held[1] == pytest.approx([1 / 6] * 6)


def test_a_subtree_ends_with_its_street():
    """At any depth; its leaves are the nodes after which nobody decides on this street."""
    game = GAMES["leduc"]
    found = subtree(game, 0, depth=99, most_raises=99)
    assert {int(game.tree.street[node]) for node in found.decisions} == {0}
    assert len(found.decisions) == int(game.tree.decisions[0].sum())
    assert not any(game.tree.kind[leaf] == DECISION for leaf in found.leaves)
