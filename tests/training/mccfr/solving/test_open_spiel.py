"""A strategy has the same value in OpenSpiel, if it is installed."""

import numpy as np
import pytest

from pac.envs.poker.small import kuhn, leduc, liars_dice
from pac.envs.poker.tree import STREET
from pac.training.mccfr.solving.exact import nash_conv, normalised

pyspiel = pytest.importorskip("pyspiel")
GAMES = {"kuhn_poker": kuhn(), "leduc_poker": leduc(), "liars_dice(dice_sides=4)": liars_dice(4)}


def policy_of(game, theirs, strategy):
    """Return a strategy in the form of OpenSpiel, by walking both trees: their actions have the same order."""
    policy = {}

    def walk(state, node, dealt):
        if state.is_terminal():
            return
        if state.is_chance_node():
            if game.tree.kind[node] == STREET:
                node = game.tree.below(node, 0)
            for card in state.legal_actions():
                walk(state.child(card), node, (*dealt, card))
            return
        player = state.current_player()
        assert player == game.tree.player[node]
        cards = np.column_stack([game.deals.hands, game.deals.board])[:, : len(dealt)]
        deal = int(np.flatnonzero((cards == dealt).all(axis=1))[0])
        entry = game.entry(node, int(game.deals.bucket[deal, game.tree.street[node], player]))
        actions = state.legal_actions()
        assert len(actions) == game.tree.degree[node]
        shares = strategy[entry : entry + len(actions)].tolist()
        policy[state.information_state_string()] = list(zip(actions, shares, strict=True))
        for place, action in enumerate(actions):
            walk(state.child(action), game.tree.below(node, place), dealt)

    walk(theirs.new_initial_state(), 0, ())
    assert len(policy) == game.rows
    return pyspiel.TabularPolicy(policy)


@pytest.mark.thorough
@pytest.mark.parametrize("name", GAMES)
def test_nash_conv_is_theirs(name):
    """To 1e-8, for a random strategy."""
    game, theirs = GAMES[name], pyspiel.load_game(name)
    strategy = normalised(game, np.random.default_rng(5).random(game.entries))
    policy = policy_of(game, theirs, strategy)
    assert nash_conv(game, strategy) == pytest.approx(pyspiel.nash_conv(theirs, policy), abs=1e-8)
