"""A card table as rows of text: both seats, the board, the pot, the history, the actions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ...envs.poker.families import FAMILIES
from ...envs.poker.looks import DICE
from ...envs.poker.looks import SUITS as SYMBOLS
from ...envs.poker.tree import FOLD, Action
from ..drawing.numbers import percent
from ..drawing.styles import BRIGHT, CYAN, FAINT, GREEN, LINE, RED, SOFT, TEXT, YELLOW, Row, fit, styled
from .match import Match

KEYS = "123456789abcdefg"
"""Keys of the actions, in order."""
SUIT_COLORS = {"♠": BRIGHT, "♥": RED, "♦": CYAN, "♣": GREEN}
THOUGHTS = 4
"""Most decisions of the opponent that are shown at the end of a hand."""
NAME, CARD, CHIPS = 12, 6, 34
"""Columns of a seat's name, of a card, and before a seat's chips."""


def table(match: Match, width: int, *, advice: bool) -> list[Row]:
    """Return the rows of a table.

    Args:
        width: Columns of text.
        advice: Whether to show the opponent's probabilities, and at the end of a hand those of its decisions.
    """
    me = match.seat
    rows: list[Row] = [*_seat(match, 1 - me), *_middle(match), *_seat(match, me), ()]
    rows += _history(match, width)
    if not match.hand.over:
        return [*rows, (), *_choices(match, width, advice=advice)]
    return [*rows, (), *_result(match, width), *(_thoughts(match, width) if advice else ())]


def money(match: Match, chips: float) -> str:
    """Return chips with their sign, in big blinds if the game has blinds."""
    return f"{chips:+g} chips" if match.unit == 1 else f"{chips / match.unit:+.1f} bb"


def who(match: Match, seat: int) -> str:
    """Return the name of a seat."""
    if match.alone:
        return f"seat {seat + 1}"
    return "you" if seat == match.seat else "opponent"


def _color(match: Match, seat: int) -> str:
    return CYAN if seat == (0 if match.alone else match.seat) else YELLOW


def _faces(match: Match, cards: Sequence[int]) -> list[str]:
    game = match.hand.game
    if game.deals is not None:
        return [game.hands[card] for card in cards]
    from ...envs.poker.cards.notation import card_text

    return [card_text(card) for card in cards]


def _card(face: str) -> tuple[str, str]:
    """Return the text of a card, two columns, and its color."""
    if face in DICE:
        return f"{DICE.index(face) + 1}{face}", BRIGHT
    symbol = SYMBOLS[face[1]][0] if face[1:] else " "
    return face[0] + symbol, SUIT_COLORS.get(symbol, BRIGHT)


def _cards(faces: Sequence[tuple[str, str]]) -> tuple[Row, Row, Row]:
    """Return cards side by side, three lines."""
    top = styled("".join("╭────╮" for _ in faces), LINE)
    low = styled("".join("╰────╯" for _ in faces), LINE)
    middle = [
        piece
        for text, color in faces
        for piece in (styled("│ ", LINE), styled(text, color, bold=True), styled(" │", LINE))
    ]
    return (top,), tuple(middle), (low,)


def _beside(left: Row, cards: tuple[Row, Row, Row], right: Row, count: int) -> list[Row]:
    """Return three lines: a name, cards, chips."""
    gap = styled(" " * max(1, CHIPS - NAME - CARD * count))
    indent = styled(" " * NAME)
    return [(indent, *cards[0]), (*left, *cards[1], gap, *right), (indent, *cards[2])]


def _seat(match: Match, seat: int) -> list[Row]:
    hand, here = match.hand, match.hand.status
    faces = (
        [("▒▒", FAINT)] * len(hand.hands[seat])
        if match.hidden(seat)
        else [_card(f) for f in _faces(match, hand.hands[seat])]
    )
    turn = "▸" if not hand.over and here.player == seat else " "
    button = " D" if match.unit > 1 and seat == 0 else ""
    name = (styled(f" {turn}", GREEN), styled(fit(who(match, seat) + button, NAME - 2), _color(match, seat), bold=True))
    most = float(hand.game.tree.paid.max())
    chips = f"in {here.paid[seat]:g}" if most > 1 else ""
    left = f"left {most - here.paid[seat]:g}" if match.unit > 1 else ""
    return _beside(name, _cards(faces), (styled(fit(chips, 12), TEXT), styled(left, SOFT)), len(faces))


def _middle(match: Match) -> list[Row]:
    hand, here = match.hand, match.hand.status
    pot = (styled(f"pot {sum(here.paid):g}", BRIGHT, bold=True),) if hand.game.tree.paid.max() > 1 else ()
    if hand.game.tree.streets == 1:
        return [(styled(" " * CHIPS), *pot)] if pot else []
    faces = [_card(face) for face in _faces(match, hand.board)]
    return _beside((styled(" " * NAME),), _cards(faces), pot, len(faces))


def _history(match: Match, width: int) -> list[Row]:
    """Return the actions of each street, wrapped."""
    names = FAMILIES[match.task.name].streets
    rows: list[Row] = []
    for street, done in groupby(match.hand.history, key=lambda one: one.street):
        pieces = [(f"{who(match, one.player)}: {one.action.name}", _color(match, one.player)) for one in done]
        rows += _wrapped(f" {names[street]}".ljust(NAME), pieces, ", ", width)
    return rows


def _wrapped(first: str, pieces: Sequence[tuple[str, str]], between: str, width: int) -> list[Row]:
    """Return pieces of text wrapped to `width` columns, after the text `first`."""
    rows, row, used = [], [styled(first, SOFT)], len(first)
    for text, color in pieces:
        if used + len(text) > width and len(row) > 1:
            rows.append(tuple(row))
            row, used = [styled(" " * len(first))], len(first)
        row += [styled(text, color), styled(between, FAINT)]
        used += len(text) + len(between)
    return [*rows, tuple(row[:-1])]


def _offer(match: Match, action: Action) -> str:
    here = match.hand.status
    if action.name == "call":
        return f"call {action.chips - here.paid[here.player]:g}"
    if action.chips <= max(here.paid):
        return action.name
    word, chips = action.name.split()[0], action.chips - match.hand.before
    return f"{word} to {chips:g}" if word == "raise" else f"{word} {chips:g}"


def _choices(match: Match, width: int, *, advice: bool) -> list[Row]:
    actions = match.hand.actions
    chances = match.advice() if advice else None
    shares = [""] * len(actions) if chances is None else [f" ({percent(100 * chance)})" for chance in chances]
    pieces = [
        (f"{key} {_offer(match, action)}{share}", BRIGHT)
        for key, action, share in zip(KEYS, actions, shares, strict=False)
    ]
    rows = _wrapped(" ", pieces, "   ", width)
    if advice and chances is None:
        rows.append((styled(" the policy does not know this situation", SOFT),))
    return rows


def _thoughts(match: Match, width: int) -> list[Row]:
    """Return what the opponent considered, a line for each of its last decisions."""
    rows: list[Row] = (
        [(styled(" what the opponent's strategy does with its cards:", SOFT),)] if match.opponent_decisions else []
    )
    for thought in match.opponent_decisions[-THOUGHTS:]:
        pieces = [
            (f"{name} {percent(100 * chance)}", BRIGHT if name == thought.done else TEXT)
            for name, chance in zip(thought.actions, thought.chances, strict=True)
        ]
        rows += _wrapped(f" {thought.done}".ljust(NAME), pieces, "   ", width)
    return rows


def _result(match: Match, width: int) -> list[Row]:
    here, won = match.hand.status, match.won
    how = f"{who(match, here.player)} folded" if here.kind == FOLD else _compared(match)
    subject = "seat 1 wins" if match.alone else "you win"
    color = GREEN if won > 0 else RED if won < 0 else YELLOW
    text = (
        f" {subject} {abs(won):g}"
        if won > 0
        else f" {subject.replace('win', 'lose')} {abs(won):g}"
        if won
        else " split"
    )
    return [(styled(text, color, bold=True), styled(fit(f" · {how}", width - len(text)), TEXT))]


def _compared(match: Match) -> str:
    if match.unit == 1:
        return "the hands were compared"
    return " against ".join(f"{who(match, seat)}: {match.hand.worth(seat)}" for seat in (match.seat, 1 - match.seat))
