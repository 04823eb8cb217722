"""Boards up to a renaming of suits."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.poker.cards.words import RENAMING, RENAMING_BITS, CardBoards, place_of, renamed, word_of

from .made_up import found_boards


@pytest.fixture(scope="module")
def all_boards() -> dict[int, CardBoards]:
    """Return all boards by their number of cards."""
    return {size: found_boards(size) for size in (3, 4, 5)}


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "count", "dealt"), [(3, 1755, 22_100), (4, 16_432, 270_725), (5, 134_459, 2_598_960)])
def test_boards_are_as_many_as_known(all_boards, size, count, dealt):
    """There are so many boards up to suits, and they stand for all that are dealt."""
    assert all_boards[size].words.shape == (count,)
    assert all_boards[size].weights.sum() == dealt == len(all_boards[size].table)


@given(st.permutations(range(52)), st.integers(3, 5), st.permutations(range(4)))
def test_renamed_boards_are_one(all_boards, deck, size, suits):
    """However its suits are renamed, a board has the same index and a renaming to the board that stands for it."""
    found = all_boards[size]
    word = sum(word_of(card) for card in deck[:size])
    other = sum(word_of(card // 4 * 4 + suits[card % 4]) for card in deck[:size])
    index = found.table[place_of(word)] >> RENAMING
    assert found.table[place_of(other)] >> RENAMING == index
    assert renamed(word, found.table[place_of(word)] & RENAMING_BITS) == found.words[index]


def test_a_board_stands_for_its_renamings(all_boards):
    """The weight of a board is the number of different boards that its suits' renamings make."""
    found = all_boards[3]
    codes = [sum(suit << 2 * place for place, suit in enumerate(order)) for order in permutations(range(4))]
    for index in range(0, 1755, 13):
        made = {renamed(int(found.words[index]), code) for code in codes}
        assert found.weights[index] == len(made)
