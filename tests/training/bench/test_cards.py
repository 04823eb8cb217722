"""The benchmark of the hand evaluator."""

from __future__ import annotations

import numpy as np

from pac.envs.poker.cards.deal import DEALT, deal_many
from pac.envs.poker.cards.evaluator import CATEGORIES, CATEGORY
from pac.envs.poker.cards.words import word_of
from pac.training.bench.games.cards import HANDS, hands_per_second, join, strongest


def test_random_hands_are_seven_cards():
    """The evaluated hands are the dealt ones: seven different cards, with a straight flush among so many."""
    cards, words = np.empty((HANDS, DEALT), np.int64), np.empty(HANDS, np.int64)
    deal_many(np.uint64(0), np.uint64(0), cards)
    join(cards, words)
    assert words[5] == sum(word_of(card) for card in cards[5, :7].tolist())
    assert (np.bitwise_count(words) == 7).all()
    assert CATEGORIES[strongest(words) >> CATEGORY] == "straight flush"


def test_a_rate_is_measured():
    """The rate is positive, however short the measurement is."""
    assert hands_per_second(0.01) > 0
