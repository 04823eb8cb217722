"""Equities, against their definition."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.native import compiler
from pac.envs.poker.cards import equity
from pac.envs.poker.cards.equity import BINS, FULL, IMPOSSIBLE, RiverEquities, histograms, river_equities
from pac.envs.poker.cards.evaluator import strength
from pac.envs.poker.cards.words import (
    HOLE_WORDS,
    HOLES,
    RENAMING,
    RENAMING_BITS,
    hole_of,
    place_of,
    renamed_card,
    renamings,
    word_of,
)

from ....examples import one_in
from .made_up import found_boards
from .twin import cards_of

ALL = np.arange(HOLES).astype(np.uint16)
compiled = compiler(Path(equity.__file__).parent, Path(__file__).parent)


def word(cards):
    return sum(word_of(int(card)) for card in cards)


@compiled
def by_definition(hole, board):
    """Return twice the opponents' pairs beaten plus those tied."""
    mine, points = strength(hole | board), 0
    for one in range(52):
        for other in range(one):
            pair = word_of(one) | word_of(other)
            if not pair & (hole | board):
                theirs = strength(pair | board)
                points += 2 * (theirs < mine) + (theirs == mine)
    return points


def rivers_of(board):
    """Return equities on the rivers that a board leads to; the others are left out."""
    rivers = found_boards(5)
    equities = np.zeros((len(rivers.words), HOLES), np.uint16)
    rest = [card for card in range(52) if card not in board]
    for cards in combinations(rest, 5 - len(board)):
        index = rivers.table[place_of(word([*board, *cards]))] >> RENAMING
        if not equities[index].any():
            river_equities(rivers.words, index, index + 1, equities)
    return RiverEquities(rivers.table, equities, *renamings())


def counted(board, holes):
    bins = np.empty((len(holes), BINS + 1), np.uint16)
    histograms(rivers_of(board), word(board), len(board), np.array(holes, np.uint16), bins)
    return bins[:, :BINS]


@pytest.mark.thorough
@given(st.permutations(range(52)))
def test_a_rivers_equity_is_what_it_wins_against_all_others(deck):
    """The equity of a pair of cards on a river is two for each pair it beats and one for each it ties with."""
    board, hole = deck[:5], deck[5:7]
    rivers = found_boards(5)
    number = rivers.table[place_of(word(board))]
    row = np.empty((1, HOLES), np.uint16)
    river_equities(rivers.words[number >> RENAMING :], 0, 1, row)
    place = hole_of(*(renamed_card(card, number & RENAMING_BITS) for card in hole))
    assert row[0, place] == by_definition(word(hole), word(board))


def test_equities_of_a_river_are_one_half_in_the_mean():
    """What one pair wins another loses, so the equities on any river sum to half of all; those that clash have none."""
    equities = np.empty((40, HOLES), np.uint16)
    words = found_boards(5).words
    words = words[:: len(words) // 39][:40]
    river_equities(words, 0, len(words), equities)
    live = (words[:, None] & HOLE_WORDS) == 0
    assert (equities.astype(np.int64) * live).sum(axis=1).tolist() == [1081 * FULL // 2] * len(words)
    assert (equities[~live] == IMPOSSIBLE).all()


@pytest.mark.parametrize("text", ["KsTsTd2c", "8h7h6d5h", "AcAdAhAs"])
def test_a_turns_histogram_counts_all_rivers(text):
    """On a turn the histogram of a hand counts the equity of each of its 46 rivers."""
    board = cards_of(text)
    hole = [card for card in range(52) if card not in board][3:5]
    rest = [card for card in range(52) if card not in board and card not in hole]
    expected = np.bincount(
        [by_definition(word(hole), word([*board, card])) * BINS // IMPOSSIBLE for card in rest], minlength=BINS
    )
    assert counted(board, [hole_of(*hole)])[0].tolist() == expected.tolist()
    assert expected.sum() == 46


@pytest.mark.thorough
def test_a_flops_histogram_counts_all_runouts():
    """On a flop the histogram of a hand counts the equity of each of its 1,081 rivers."""
    board, hole = cards_of("Ah9h4c"), cards_of("Kh3h")
    rest = [card for card in range(52) if card not in board and card not in hole]
    rivers = [by_definition(word(hole), word([*board, *cards])) for cards in combinations(rest, 2)]
    expected = np.bincount(np.array(rivers) * BINS // IMPOSSIBLE, minlength=BINS)
    assert counted(board, [hole_of(*hole)])[0].tolist() == expected.tolist()


@pytest.mark.thorough
def test_hands_that_clash_with_the_board_see_no_river():
    """A pair of cards that is not there has an empty histogram, every other one 1,081 rivers."""
    board = cards_of("Ah9h4c")
    total = counted(board, ALL).sum(axis=1)
    assert total.tolist() == np.where(HOLE_WORDS & word(board), 0, 1081).tolist()


@pytest.mark.thorough
@one_in(2)
@given(st.permutations(range(52)), st.permutations(range(4)))
def test_renaming_suits_changes_no_histogram(deck, suits):
    """A hand on a turn has the same histogram when all its suits are renamed."""
    board, hole = deck[:4], deck[4:6]
    other = [card // 4 * 4 + suits[card % 4] for card in deck[:6]]
    assert (counted(board, [hole_of(*hole)]) == counted(other[:4], [hole_of(*other[4:])])).all()
