"""The layout of a hand's picture: seats with cards and chips, the board and the pot, and the actions of each street."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..text import LETTER
from .cards.notation import card_text
from .layout import PLAYERS, HandLayout
from .tree import Action

if TYPE_CHECKING:
    from .game import PokerGame

WIDTH = 38
TURN = 0
NAME = 2
CARDS = 11
CARD_WIDTH = 3
CHIPS, PAID_END, STACK = 17, 21, 23
"""Columns of the turn marker, the seat, the first card, the chips, the end of the paid chips, and the stack."""
SEAT_LINES = (2, 0)
BOARD_LINE, POT_LINE = 1, 3
FIRST_STREET = 4
STREET_COLUMN = 9
LABEL = 7
"""The most characters of an action."""
DICE_LINES = 2
"""Lines for the bids of liar's dice."""

RED, GREEN, YELLOW, BLUE, CYAN, WHITE = 2, 3, 4, 5, 7, 8
SUITS = {"s": ("♠", WHITE), "h": ("♥", RED), "d": ("♦", BLUE), "c": ("♣", GREEN)}
DICE = "⚀⚁⚂⚃⚄⚅"
SEAT_COLORS = (CYAN, YELLOW)
POINTER = ord("▸") | GREEN << LETTER


def lines_of(layout: HandLayout) -> int:
    return 1 if layout.streets > 1 or layout.longest <= WIDTH // LABEL else DICE_LINES


def shape_of(layout: HandLayout) -> tuple[int, int]:
    """Return lines and columns of the picture."""
    return FIRST_STREET + layout.streets * lines_of(layout) + 1, WIDTH


def letters(text: str, color: int = 0) -> list[int]:
    return [ord(letter) | color << LETTER for letter in text]


def template_of(layout: HandLayout, streets: tuple[str, ...], *, chips: bool, stack: int) -> NDArray[np.uint32]:
    """Return the constant part of the picture, `(lines, columns)`.

    Args:
        layout: The layout of the game.
        chips: Whether the picture has chips.
        stack: Initial chips of each player in games with a button, else 0.
    """
    cells = np.full(shape_of(layout), ord(" "), np.uint32)

    def write(line: int, column: int, text: str, color: int = 0) -> None:
        cells[line, column : column + len(text)] = letters(text, color)

    for player in range(PLAYERS):
        write(SEAT_LINES[player], NAME, f"seat {player + 1}", SEAT_COLORS[player])
        if stack:
            write(SEAT_LINES[player], STACK, f"of {stack}")
        elif chips:
            write(SEAT_LINES[player], CHIPS, "in")
    if stack:
        write(SEAT_LINES[0], NAME + 7, "D")
    if chips:
        write(POT_LINE, CARDS, "pot")
    for street, name in enumerate(streets):
        write(FIRST_STREET + street, 0, name)
    write(len(cells) - 1, 0, "last hand")
    return cells


def faces_of(game: PokerGame, layout: HandLayout) -> NDArray[np.uint32]:
    """Return the two cells of each card or face of a die, `(cards, 2)`."""
    names = game.hands if game.deals is not None else [card_text(card) for card in range(layout.cards)]
    return np.array([_face(name) for name in names], np.uint32)


def _face(name: str) -> list[int]:
    if name in DICE:
        return letters(f"{DICE.index(name) + 1}{name}", WHITE)
    symbol, color = SUITS.get(name[1:], (" ", WHITE))
    return letters(name[0] + symbol, color)


def labels_of(actions: tuple[Action, ...]) -> NDArray[np.uint32]:
    """Return the label of each action as characters, `(actions, LABEL)`, padded with zeros."""
    cells = np.zeros((len(actions), LABEL), np.uint32)
    for row, action in zip(cells, actions, strict=True):
        text = action.name.replace("raise ", "r").replace("bet ", "b")[:LABEL]
        row[: len(text)] = letters(text)
    return cells
