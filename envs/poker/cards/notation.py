"""Cards as numbers and as text, and the 169 classes of starting hands.

A card is `rank * 4 + suit`, from 0, the deuce of clubs, to 51, the ace of spades.
"""

from __future__ import annotations

from ...errors import BadParameter

RANKS = "23456789TJQKA"
SUITS = "cdhs"
DECK = len(RANKS) * len(SUITS)


def card_of(text: str) -> int:
    """Return the card that two letters name: `As`, `Td`.

    Raises:
        BadParameter: They name none.
    """
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        raise BadParameter(f"a card is one of {RANKS} and one of {SUITS}, such as As, got {text!r}")
    return RANKS.index(text[0]) * len(SUITS) + SUITS.index(text[1])


def card_text(card: int) -> str:
    """Return the two letters of a card."""
    return RANKS[card // len(SUITS)] + SUITS[card % len(SUITS)]


def cards_of(text: str) -> list[int]:
    """Return the cards of a text without separators: `AsKd7c`.

    Raises:
        BadParameter: Some two letters name none, or a card comes twice.
    """
    cards = [card_of(text[at : at + 2]) for at in range(0, len(text), 2)]
    if len(set(cards)) < len(cards):
        raise BadParameter(f"every card comes once, got {text!r}")
    return cards


def _class_name(row: int, column: int) -> str:
    high, low = RANKS[-1 - min(row, column)], RANKS[-1 - max(row, column)]
    return high + low + ("s" if row < column else "o" if row > column else "")


CLASSES = tuple(_class_name(row, column) for row in range(len(RANKS)) for column in range(len(RANKS)))
"""The names of the 169 classes, row by row of the usual grid: aces first, pairs on the diagonal, suited ones above."""
