"""Cards as numbers and as text, and the 169 classes of starting hands.

A card is `rank * 4 + suit`, from 0, the deuce of clubs, to 51, the ace of spades.
"""

from __future__ import annotations

RANKS = "23456789TJQKA"
SUITS = "cdhs"
DECK = len(RANKS) * len(SUITS)


def card_text(card: int) -> str:
    """Return the two letters of a card."""
    return RANKS[card // len(SUITS)] + SUITS[card % len(SUITS)]


def _class_name(row: int, column: int) -> str:
    high, low = RANKS[-1 - min(row, column)], RANKS[-1 - max(row, column)]
    return high + low + ("s" if row < column else "o" if row > column else "")


CLASSES = tuple(_class_name(row, column) for row in range(len(RANKS)) for column in range(len(RANKS)))
"""The names of the 169 classes, row by row of the usual grid: aces first, pairs on the diagonal, suited ones above."""
