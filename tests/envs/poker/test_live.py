"""Hands that people play: any bet, and the node of the tree that stands for it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import find
from pac.envs.poker.live import LiveHand, rules_of, uniform
from pac.envs.poker.tree import DECISION

from .twins import NoLimitTable

SPECS = ("kuhn", "leduc", "liars_dice:faces=3", "holdem:betting=fcpa,stack=20")
RULES = {spec: rules_of(find(spec)) for spec in SPECS}
HOLDEM = RULES[SPECS[-1]]
SEEDS = st.integers(0, 2**32)


def played(hand: LiveHand, *words: str) -> LiveHand:
    """Do actions by their names; a number is a raise to so many chips."""
    for word in words:
        named = {action.name: action for action in hand.actions}
        hand.act(hand.raise_to(int(word)) if word.isdigit() else named[word])
    return hand


@pytest.mark.parametrize("spec", SPECS)
@given(seed=SEEDS)
def test_random_hands_end_on_the_tree(spec, seed):
    """Whoever plays what is offered stays on the tree; at the end one has won what the other has paid."""
    generator = random.Random(seed)
    hand = LiveHand(RULES[spec], generator)
    while not hand.over:
        assert hand.node is not None
        assert hand.game.tree.actions_of(hand.node) == tuple(hand.actions)
        hand.act(hand.chosen_by(uniform))
    assert abs(hand.won) in {0, min(hand.status.paid)}
    assert hand.node is None


@given(SEEDS)
def test_any_bet_follows_the_rules(seed):
    """With raises of any size between the offered ones the dealer who knows the rules follows every hand."""
    generator = random.Random(seed)
    hand, table = LiveHand(HOLDEM, generator), NoLimitTable(40, 1, 2)
    while not hand.over:
        assert hand.status.player == table.turn
        offered = random.Random(seed + len(hand.history)).choice(hand.actions)
        facing = hand.status.paid[table.turn] < max(hand.status.paid)
        if hand.raises is not None and generator.random() < 0.5:
            offered = hand.raise_to(generator.randint(*hand.raises))
            table.raise_to(int(offered.chips))
        elif offered.name == "fold":
            table.fold()
        elif offered.name in {"check", "call"}:
            assert facing == (offered.name == "call")
            table.check_or_call()
        else:
            table.raise_to(int(offered.chips))
        hand.act(offered)
        while table.waits_for_cards:
            table.deal()
        assert hand.status.paid == table.paid
        assert hand.over == bool(table.ended)
        if hand.node is not None:
            tree = hand.game.tree
            assert (tree.kind[hand.node], tree.street[hand.node]) == (DECISION, table.street)


def test_a_bet_that_is_not_offered_is_taken_for_one():
    """The big blind faces a raise to five, which the tree knows as one to six, and has its actions there."""
    hand = played(LiveHand(HOLDEM, random.Random(1)), "5")
    tree = hand.game.tree
    assert hand.node is not None
    assert tree.paid[hand.node].tolist() == [6, 2]
    assert [action.name for action in hand.actions] == ["fold", "call", "raise 15", "all-in"]


def test_a_policy_answers_in_the_sizes_of_the_hand():
    """What it would raise to on the tree is the same share of the real pot."""
    hand = played(LiveHand(HOLDEM, random.Random(1)), "5")
    pot = np.array([0.0, 0.0, 1.0, 0.0])
    assert hand.chosen_by(lambda *_: pot).chips == 15


def test_without_a_node_it_is_checked_or_called():
    """After an all-in of the tree that was none, nothing is asked of a policy any more."""
    hand = played(LiveHand(HOLDEM, random.Random(1)), "39", "call")
    assert (hand.node, hand.over, hand.status.street) == (None, False, 1)
    assert hand.chosen_by(uniform).name == "check"
    assert hand.probabilities(uniform) is None
    assert played(hand, "40", "call").over
    assert len(hand.board) == 5


def test_probabilities_stand_beside_what_can_be_done():
    """A policy's are shown in the order of the actions."""
    hand = LiveHand(RULES["leduc"], random.Random(3))
    assert hand.probabilities(uniform) == pytest.approx([0.5, 0.5])
    tree = hand.game.tree
    assert hand.game.row(0, hand.bucket(0)) == hand.hands[0][0] * tree.decisions[0, 0]


def test_raises_are_as_the_rules_allow():
    """A number below the least or above the most becomes it; small games have only what is offered."""
    hand = LiveHand(HOLDEM, random.Random(1))
    assert hand.raises == (4, 40)
    assert [hand.raise_to(chips).name for chips in (1, 5, 6, 99)] == ["raise 4", "raise 5", "raise 6", "all-in"]
    assert LiveHand(RULES["kuhn"], random.Random(1)).raises is None


@pytest.mark.parametrize("better", [0, 1])
def test_who_wins_a_showdown(better):
    """Aces beat deuces on a dry board, whoever has them."""
    hand = LiveHand(HOLDEM, random.Random(1))
    hands = ((51, 50), (0, 1))
    hand.hands = hands if better == 0 else (hands[1], hands[0])
    hand._board = (20, 25, 30, 35, 44)
    assert played(hand, "all-in", "call").won == (40 if better == 0 else -40)
