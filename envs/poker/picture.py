"""Draws a hand as text cells."""

from __future__ import annotations

from ..fields import Array
from ..native import compiled, inlined
from ..text import LETTER
from .layout import BOARD, HANDS, HISTORY, LAST, NODE, PLAYERS, STEPS
from .looks import (
    BOARD_LINE,
    CARD_WIDTH,
    CARDS,
    FIRST_STREET,
    LABEL,
    PAID_END,
    POINTER,
    POT_LINE,
    SEAT_COLORS,
    SEAT_LINES,
    STREET_COLUMN,
    TURN,
)
from .tree import DECISION
from .views import GameArrays, PokerDimensions

ZERO, MINUS, PLUS = ord("0"), ord("-"), ord("+")
LAST_END = CARDS + 5


@compiled
def write_number(line: Array, end: int, number: int) -> int:
    """Write a number that ends in a column; return the column before it."""
    column = end
    while number > 0 or column == end:
        line[column] = ZERO + number % 10
        number //= 10
        column -= 1
    return column


@inlined
def write_card(r: GameArrays, line: Array, place: int, card: int) -> None:
    """Write a card at its place among others."""
    line[CARDS + place * CARD_WIDTH] = r.faces[card, 0]
    line[CARDS + place * CARD_WIDTH + 1] = r.faces[card, 1]


@inlined
def write_history(r: GameArrays, n: PokerDimensions, hand: Array, picture: Array) -> None:
    """Write each street's actions into its lines, in the colors of their seats."""
    first = STREET_COLUMN if n.streets > 1 else 0
    before, line, column = 0, FIRST_STREET, first
    for step in range(hand[STEPS]):
        edge = hand[HISTORY + step] - 1
        node = r.at[edge]
        if r.on[node] != before:
            before = r.on[node]
            line, column = FIRST_STREET + before * n.street_lines, first
        length = 0
        while length < LABEL and r.labels[edge, length]:
            length += 1
        if column + length > n.columns and line + 1 < FIRST_STREET + (before + 1) * n.street_lines:
            line, column = line + 1, first
        color = SEAT_COLORS[r.player[node]] << LETTER
        for letter in range(min(length, n.columns - column)):
            picture[line, column + letter] = r.labels[edge, letter] | color
        column += length + 1


@inlined
def draw(r: GameArrays, n: PokerDimensions, hand: Array, picture: Array) -> None:
    """Draw a hand, with both seats' cards."""
    for line in range(n.lines):  # Numba takes four seconds to compile the copy of a whole array
        for column in range(n.columns):
            picture[line, column] = r.template[line, column]
    node = hand[NODE]
    for seat in range(PLAYERS):
        row = picture[SEAT_LINES[seat]]
        for card in range(n.held):
            write_card(r, row, card, hand[HANDS + 2 * seat + card])
        if n.chips:
            write_number(row, PAID_END, int(r.paid[node, seat]))
        if r.kind[node] == DECISION and r.player[node] == seat:
            row[TURN] = POINTER
    for card in range(r.board[r.on[node]]):
        write_card(r, picture[BOARD_LINE], card, hand[BOARD + card])
    if n.chips:
        write_number(picture[POT_LINE], PAID_END, int(r.paid[node, 0] + r.paid[node, 1]))
    write_history(r, n, hand, picture)
    last = hand[LAST]
    sign = write_number(picture[n.lines - 1], LAST_END, abs(last))
    if last:
        picture[n.lines - 1, sign] = PLUS if last > 0 else MINUS
