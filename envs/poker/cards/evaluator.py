"""The strength of hands of five to seven cards."""

from __future__ import annotations

from ...native import compiled
from .words import LANE, LANE_BITS, highest, ones

CATEGORIES = (
    "high card",
    "pair",
    "two pair",
    "three of a kind",
    "straight",
    "flush",
    "full house",
    "four of a kind",
    "straight flush",
)
CATEGORY = 2 * LANE
"""The lowest bit of the category in a strength; below are the ranks that make the hand, then the kickers."""


@compiled
def top(ranks: int) -> int:
    """The highest rank of a set that has one."""
    return 1 << int(highest(ranks))


@compiled
def best(ranks: int, spare: int) -> int:
    """A set of ranks without its `spare` lowest."""
    for _ in range(spare):
        ranks &= ranks - 1
    return ranks


@compiled
def straights(ranks: int) -> int:
    """A bit for each straight in a set of ranks, the one from the ace to the five lowest."""
    low = ranks << 1 | ranks >> (LANE - 1)
    two = low & low >> 1
    return two & two >> 2 & low >> 4


@compiled
def strength_of(category: int, made: int, kickers: int) -> int:
    return category << CATEGORY | made << LANE | kickers


@compiled
def strength(word: int) -> int:
    """Return the strength of the best five of five to seven cards; the higher one wins.

    Args:
        word: The set of the cards, see `words`.
    """
    clubs, diamonds = word & LANE_BITS, word >> LANE & LANE_BITS
    hearts, spades = word >> 2 * LANE & LANE_BITS, word >> 3 * LANE
    for suit in (clubs, diamonds, hearts, spades):
        if ones(suit) >= 5:
            runs = straights(suit)
            if runs:
                return strength_of(8, top(runs), 0)
            return strength_of(5, best(suit, ones(suit) - 5), 0)
    ranks = clubs | diamonds | hearts | spades
    black, red = clubs & spades, diamonds & hearts
    pairs = black | red | (clubs | spades) & (diamonds | hearts)
    runs = straights(ranks)
    if not pairs:
        return strength_of(4, top(runs), 0) if runs else strength_of(0, best(ranks, ones(ranks) - 5), 0)
    triples = black & (diamonds | hearts) | red & (clubs | spades)
    if triples:
        quads = black & red
        if quads:
            return strength_of(7, quads, top(ranks ^ quads))
        made = top(triples)
        if pairs ^ made:
            return strength_of(6, made, top(pairs ^ made))
    if runs:
        return strength_of(4, top(runs), 0)
    if triples:
        return strength_of(3, triples, best(ranks ^ triples, ones(ranks) - 3))
    if ones(pairs) > 1:
        made = best(pairs, ones(pairs) - 2)
        return strength_of(2, made, top(ranks ^ made))
    return strength_of(1, pairs, best(ranks ^ pairs, ones(ranks) - 4))
