"""Dealing: what is dealt, to whom, and who wins."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.native import stream
from pac.envs.poker.cards.deal import DEALT, deal, deal_many, look_up_many
from pac.envs.poker.cards.notation import CLASSES
from pac.envs.poker.cards.words import RENAMING, RENAMING_BITS, place_of, renamed_card, word_of

from .made_up import random_tables
from .twin import cards_of, worth

DEALS = 50_000


def looked_up(tables, cards):
    """Return the buckets of one hand and the showdown's sign."""
    buckets, signs = np.empty((1, 4, 2), np.int32), np.empty(1, np.int8)
    look_up_many(tables, np.array([cards]), buckets, signs)
    return buckets[0], signs[0]


@pytest.fixture(scope="module")
def hands():
    """Return many deals."""
    dealt = np.empty((DEALS, DEALT), np.int64)
    deal_many(np.uint64(1), np.uint64(0), dealt)
    return dealt


@pytest.fixture(scope="module")
def tables():
    """Return tables in which another board or pair of cards has another bucket, almost always."""
    return random_tables(256, 256, 256)


def test_every_card_comes_once_in_a_deal(hands):
    """The nine cards of a deal are different ones."""
    assert (np.diff(np.sort(hands, axis=1), axis=1) > 0).all()
    assert hands.min() == 0
    assert hands.max() == 51


def test_every_card_comes_equally_often_everywhere(hands):
    """In each of the nine places every card is equally likely, by chi-square far within chance."""
    expected = DEALS / 52
    for place in range(DEALT):
        counts = np.bincount(hands[:, place], minlength=52)
        assert ((counts - expected) ** 2 / expected).sum() < 51 + 5 * (2 * 51) ** 0.5


def test_cards_of_neighbours_are_independent(hands):
    """Every pair of cards is equally likely to lie in the last two places."""
    counts = np.zeros((52, 52))
    np.add.at(counts, (hands[:, -2], hands[:, -1]), 1)
    expected, cells = DEALS / 52 / 51, 52 * 51
    distance = ((counts - expected) ** 2 / expected)[~np.eye(52, dtype=bool)].sum()
    assert abs(distance - cells) < 5 * (2 * cells) ** 0.5


def test_a_deal_depends_on_seed_and_number_only(hands):
    """The deal of a seed and a number is the same again, whatever was dealt before; another seed deals another."""
    random, cards = np.array([stream(np.uint64(1), np.uint64(777))]), np.empty(DEALT, np.int64)
    deal(random, cards)
    assert cards.tolist() == hands[777].tolist()
    other = np.empty_like(hands[:100])
    deal_many(np.uint64(2), np.uint64(0), other)
    assert not (other == hands[:100]).all(axis=1).any()


def by_hand(boards, table, board, pair):
    """Return a bucket, looked up by the definition of the tables."""
    number = boards[place_of(sum(word_of(card) for card in board))]
    high, low = sorted((renamed_card(card, number & RENAMING_BITS) for card in pair), reverse=True)
    return table[number >> RENAMING, high * (high - 1) // 2 + low]


@pytest.mark.thorough
@given(st.permutations(range(52)))
def test_buckets_are_those_of_the_tables(tables, deck):
    """Each player's bucket on each street is that of his cards and of the board as far as it is dealt."""
    buckets, _ = looked_up(tables, deck[:9])
    streets = ((tables.flops, tables.flop), (tables.turns, tables.turn), (tables.rivers, tables.river))
    for player in (0, 1):
        pair = deck[2 * player : 2 * player + 2]
        for street, (boards, table) in enumerate(streets):
            board = deck[4 : 7 + street]
            assert buckets[1 + street, player] == by_hand(boards, table, board, pair)


@pytest.mark.thorough
@given(st.permutations(range(52)))
def test_the_better_hand_wins(tables, deck):
    """The showdown's sign is that of the best five cards of each, by the slow twin."""
    mine, others = (
        worth(np.array(list(combinations([*deck[2 * player : 2 * player + 2], *deck[4:9]], 5)))).max()
        for player in (0, 1)
    )
    assert looked_up(tables, deck[:9])[1] == np.sign(mine - others)


def test_before_the_flop_the_bucket_is_the_class(tables):
    """The buckets before the flop are places in the grid of starting hands."""
    buckets, sign = looked_up(tables, cards_of("AsKs7c2dQhJhTh3c4d"))
    assert [CLASSES[bucket] for bucket in buckets[0]] == ["AKs", "72o"]
    assert sign == 1


def test_many_hands_are_looked_up_as_each_alone(tables, hands):
    """What a hand's buckets and its winner are does not depend on the hands beside it."""
    buckets, signs = np.empty((300, 4, 2), np.int32), np.empty(300, np.int8)
    look_up_many(tables, hands[:300], buckets, signs)
    for hand in range(0, 300, 17):
        alone, sign = looked_up(tables, hands[hand])
        assert (buckets[hand] == alone).all()
        assert signs[hand] == sign
