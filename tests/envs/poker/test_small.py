"""The small games, against twins that play each hand again from its words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.poker.small import kuhn, leduc, liars_dice
from pac.envs.poker.tree import DECISION, FOLD, SHOWDOWN

from .twins import Replayed, liar, limit
from .walks import walk

KUHN, LEDUC, DICE = kuhn(), leduc(), {faces: liars_dice(faces) for faces in (2, 3, 6)}


def assert_same(game, seed, twin) -> None:
    """Walk through a game's tree and check that the twin plays the same hand."""
    words: list[str] = []
    for node, action in walk(game.tree, seed):
        expected: Replayed = twin(words)
        assert game.tree.street[node] == expected.street
        assert tuple(game.tree.paid[node]) == expected.paid
        kind = game.tree.kind[node]
        assert {FOLD: "fold", SHOWDOWN: "showdown"}.get(kind, "") == expected.ended
        if kind in {DECISION, FOLD}:
            assert game.tree.player[node] == expected.player
        if action is not None:
            assert tuple(one.name for one in game.tree.actions_of(node)) == expected.can
            words.append(action.name)


@given(st.integers(0, 2**32))
def test_kuhn_equals_its_twin(seed):
    """One bet of one chip."""
    assert_same(KUHN, seed, lambda words: limit(words, 1, (1,), 1))


@given(st.integers(0, 2**32))
def test_leduc_equals_its_twin(seed):
    """Two rounds, bets of two and four chips, two of them in a round."""
    assert_same(LEDUC, seed, lambda words: limit(words, 1, (2, 4), 2))


@pytest.mark.parametrize("faces", DICE)
@given(seed=st.integers(0, 2**32))
def test_liars_dice_equals_its_twin(faces, seed):
    """Bids rise until one is doubted."""
    assert_same(DICE[faces], seed, lambda words: liar(words, faces))


@given(st.integers(0, 2**32), st.integers(0, 35))
def test_who_wins_at_liars_dice(seed, deal):
    """The last bid holds if so many dice show its face or the wild one; its player then wins, else the doubter."""
    game = DICE[6]
    assert game.deals is not None
    bids = [(node, action) for node, action in walk(game.tree, seed) if action is not None and action.name != "liar"]
    bidder = game.tree.player[bids[-1][0]]
    number, face = map(int, bids[-1][1].name.split("x"))
    shown = sum(int(die) + 1 in {face, 6} for die in game.deals.hands[deal])
    end = list(walk(game.tree, seed))[-1][0]
    winner = bidder if shown >= number else 1 - bidder
    assert game.deals.sign[deal, game.tree.result[end]] == (1 if winner == 0 else -1)


@pytest.mark.parametrize(("cards", "sign"), [("KQJ", 1), ("JQK", -1), ("JKJ", 1), ("QJJ", -1), ("QQK", 0), ("KKJ", 0)])
def test_who_wins_at_leduc(cards, sign):
    """A pair with the board wins, then the higher card; equal cards draw."""
    ranks = ["JQK".index(card) for card in cards]
    deals = LEDUC.deals
    assert deals is not None
    dealt = np.column_stack([deals.hands, deals.board]) // 2
    assert set(deals.sign[(dealt == ranks).all(axis=1), 0]) == {sign}
