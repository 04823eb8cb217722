"""What hands are worth."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.native import compiler
from pac.envs.poker.cards import evaluator
from pac.envs.poker.cards.evaluator import CATEGORIES, CATEGORY, strength
from pac.envs.poker.cards.words import word_of

from .twin import cards_of, worth

compiled = compiler(Path(evaluator.__file__).parent, Path(__file__).parent)


def strength_of(cards: list[int]) -> int:
    return strength(sum(word_of(card) for card in cards))


@compiled
def strengths(hands, found):
    for hand in range(len(hands)):
        word = 0
        for card in hands[hand]:
            word |= word_of(card)
        found[hand] = strength(word)


@pytest.fixture(scope="module")
def hands():
    """Return all hands of five cards."""
    return np.fromiter(chain.from_iterable(combinations(range(52), 5)), np.int64).reshape(-1, 5)


@pytest.fixture(scope="module")
def found(hands):
    """Return the strength of each."""
    numbers = np.empty(comb(52, 5), np.int64)
    strengths(hands, numbers)
    return numbers


@pytest.mark.thorough
def test_all_five_cards_rank_as_the_rules_say(hands, found):
    """All hands of five cards, up to the names of suits, stand in the same order as by the slow twin, ties included."""
    suits = hands % 4
    named = np.maximum.accumulate(suits, axis=1) + 1
    some = (suits[:, 0] == 0) & (suits[:, 1:] <= named[:, :-1]).all(axis=1)
    order = np.flatnonzero(some)[np.argsort(found[some])]
    ours, theirs = np.diff(found[order]), np.diff(worth(hands[order]))
    np.testing.assert_array_equal(ours > 0, theirs > 0)
    assert not (theirs < 0).any()
    assert np.count_nonzero(ours) + 1 == 7462


@pytest.mark.thorough
def test_categories_are_as_frequent_as_known(found):
    """Of all hands of five cards, each category has its known number."""
    known = [1_302_540, 1_098_240, 123_552, 54_912, 10_200, 5_108, 3_744, 624, 40]
    assert np.bincount(found >> CATEGORY).tolist() == known
    assert len(CATEGORIES) == len(known)


@given(st.permutations(range(52)), st.integers(5, 7))
def test_more_cards_are_worth_their_best_five(deck, count):
    """The strength of five to seven cards is the highest of any five of them."""
    cards = deck[:count]
    assert strength_of(cards) == max(strength_of(list(five)) for five in combinations(cards, 5))


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("AsKsQsJsTs2c2d", "KsQsJsTs9s2c2d"),
        ("6c5d4h3s2cKdKh", "5d4h3s2cAcAdAh"),
        ("AcAdAhKcKdQhQs", "KcKdKhAcAdQhQs"),
        ("2c2d2h2sAcKdQh", "AcAdAhKcKdQhQs"),
        ("AcAdKhKs3c3d2h", "AcAdQhQsKcTd9h"),
        ("AsQsTs8s6s2c2d", "AsQsTs8s5s4s2d"),
    ],
)
def test_known_hands_win(better, worse):
    """Hands whose best five are easily misread win as they should."""
    assert strength_of(cards_of(better)) > strength_of(cards_of(worse))


def test_two_pairs_of_three_take_the_best_kicker():
    """Of three pairs the lowest one's card is no kicker when another card is higher."""
    assert strength_of(cards_of("AcAdKhKs3c3dQh")) > strength_of(cards_of("AcAdKhKs3c3dJh"))
    assert strength_of(cards_of("AcAdKhKs3c3d2h")) == strength_of(cards_of("AcAdKhKs3c2d2h"))
