"""Cards, pairs of cards and their classes."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.poker.cards.notation import CLASSES, card_text
from pac.envs.poker.cards.words import HOLE_CARDS, HOLES, class_of, hole_of, place_of, renamed_card, renamings, word_of

from .twin import cards_of


def test_cards_are_told_by_rank_and_suit():
    """Every card's text names it, from the deuce of clubs to the ace of spades."""
    assert len({card_text(card) for card in range(52)}) == 52
    assert [card_text(card) for card in (0, 1, 50, 51)] == ["2c", "2d", "Ah", "As"]


def test_pairs_of_cards_are_numbered():
    """Every pair of cards has an index of its own, in either order, and the index tells the cards."""
    pairs = list(combinations(range(52), 2))
    assert sorted(hole_of(*pair) for pair in pairs) == list(range(HOLES))
    assert all(hole_of(*HOLE_CARDS[hole][::-1]) == hole == hole_of(*HOLE_CARDS[hole]) for hole in range(0, HOLES, 7))


def test_there_are_169_classes():
    """13 pairs of 6 hands each, 78 suited classes of 4 and 78 others of 12."""
    counts = Counter(CLASSES[class_of(*pair)] for pair in combinations(range(52), 2))
    assert len(counts) == len(CLASSES) == 169
    assert all(counts[name] == {"s": 4, "o": 12}.get(name[2:], 6) for name in CLASSES)


@pytest.mark.parametrize(
    ("hand", "name", "row", "column"),
    [("AsAc", "AA", 0, 0), ("KdAd", "AKs", 0, 1), ("AsKd", "AKo", 1, 0), ("9hTc", "T9o", 5, 4), ("2c2h", "22", 12, 12)],
)
def test_a_class_is_its_place_in_the_grid(hand, name, row, column):
    """Aces come first; pairs stand on the diagonal, suited hands above it."""
    index = class_of(*cards_of(hand))
    assert (CLASSES[index], *divmod(index, 13)) == (name, row, column)


@given(st.permutations(range(52)), st.integers(1, 5))
def test_the_place_of_a_set_is_its_rank(deck, count):
    """The place of a set of cards is the number of sets whose words are smaller."""
    bits = sorted(card % 4 * 13 + card // 4 for card in deck[:count])
    binomials = [[0] * 53 for _ in range(6)]
    for places in range(53):
        binomials[0][places] = 1
        for taken in range(1, min(places, 5) + 1):
            binomials[taken][places] = binomials[taken - 1][places - 1] + binomials[taken][places - 1]
    expected = sum(binomials[taken + 1][bit] for taken, bit in enumerate(bits))
    assert place_of(sum(word_of(card) for card in deck[:count])) == expected


def test_renamings_of_pairs_agree_with_those_of_cards():
    """The table of renamed pairs says what renaming both cards says."""
    table, rows = renamings()
    assert (rows >= 0).sum() == len(table) == 24
    for renaming in range(256):
        if rows[renaming] >= 0:
            for hole in range(0, HOLES, 31):
                one, other = HOLE_CARDS[hole]
                expected = hole_of(renamed_card(one, renaming), renamed_card(other, renaming))
                assert table[rows[renaming], hole] == expected
