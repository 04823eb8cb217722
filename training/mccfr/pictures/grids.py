"""Strategies as grids of probabilities: a street of a small game, or a decision of hold'em by starting hands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from math import comb
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....envs import Task
from ....envs.fields import Array
from ....envs.panels import Glyph
from ....envs.poker.cards.deal import BucketTables
from ....envs.poker.cards.notation import CLASSES, RANKS
from ....envs.poker.cards.words import HOLE_CARDS, LANE, RENAMING, RENAMING_BITS, renamings
from ....envs.poker.game import PokerGame
from ....envs.poker.tree import DECISION

FOLD, CALL, ALL_IN, LIAR = "fold", "check or call", "all-in", "liar"
FIXED = {FOLD: ("f", "#3f6fb5"), CALL: ("c", "#4f9d69"), ALL_IN: ("A", "#8c1d40"), LIAR: ("L", "#b03a48")}
RAISES, RAISE_LETTERS = ("#f0b27a", "#c0392b"), "rstuvwxyz"
BIDS, BID_LETTERS = ("#2f4b7c", "#e3c567"), "123456abcdef"
DARK, LIGHT = "#10141b", "#f4f6f8"
BRIGHT = 1200
"""Letters are dark on backgrounds of at least this brightness."""


def glyphs_of(task: Task) -> tuple[Glyph, ...]:
    """Return the glyph of every action of a game, by its number."""
    others = [name for name in task.action_names if name not in FIXED]
    bids = LIAR in task.action_names
    colors = ramp(*(BIDS if bids else RAISES), len(others))
    letters = BID_LETTERS if bids else RAISE_LETTERS
    own = dict(zip(others, zip(cycle(letters), colors, strict=False), strict=True))
    return tuple(_glyph(name, *{**own, **FIXED}[name]) for name in task.action_names)


def ramp(first: str, last: str, count: int) -> list[str]:
    """Return `count` colors from one `#rrggbb` to another."""
    pairs = list(zip(bytes.fromhex(first[1:]), bytes.fromhex(last[1:]), strict=True))
    parts = [at / max(1, count - 1) for at in range(count)]
    return ["#" + bytes(round((1 - part) * one + part * other) for one, other in pairs).hex() for part in parts]


def _glyph(name: str, letter: str, ground: str) -> Glyph:
    red, green, blue = bytes.fromhex(ground[1:])
    dark = 3 * red + 6 * green + blue >= BRIGHT
    return Glyph(f"{letter} ", letter, DARK if dark else LIGHT, ground, name)


def history(names: Sequence[str]) -> str:
    """Return actions in short: `kbr` for check, bet, raise; bids in full; a dot if there are none."""
    if any("x" in name for name in names):
        return " ".join(names)
    return "".join("k" if name == "check" else name[0] for name in names) or "·"


WHOLE = 255
MOST_COLUMNS = 32
SIDE = len(RANKS)


HeldBuckets: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]
"""The bucket of every hand, `(hands,)`, and whether the hand is possible."""


class BucketLookup(Protocol):
    """Finds the buckets of all hands."""

    def of(self, street: int, board: tuple[int, ...]) -> HeldBuckets:
        """Return every hand's bucket on a street, and whether the hand is possible with that board."""


def shares(sums: Array) -> Array:
    """Return sums `(..., actions)` as shares of their sum; zeros where that is zero."""
    exact = np.asarray(sums, np.float64)
    total = exact.sum(axis=-1, keepdims=True)
    found: Array = np.divide(exact, total, out=np.zeros_like(exact), where=total > 0)
    return found


def names_of(game: PokerGame, street: int) -> list[str]:
    """Return the name of every bucket of a small game: the rank of the hand, a bar, and the rank of the board."""
    assert game.deals is not None
    names = [""] * game.buckets[street]
    for deal, hands in enumerate(game.deals.hands.tolist()):
        board = f"|{_rank(game.boards[game.deals.board[deal]])}" if street else ""
        for player, hand in enumerate(hands):
            names[game.deals.bucket[deal, street, player]] = _rank(game.hands[hand]) + board
    return names


def _rank(name: str) -> str:
    return str("⚀⚁⚂⚃⚄⚅".index(name) + 1) if name in "⚀⚁⚂⚃⚄⚅" else name[0]


def histories(game: PokerGame) -> Callable[[int], list[str]]:
    """Return a function that returns the names of the actions before a node."""
    tree = game.tree
    parents = {int(child): edge for edge, child in enumerate(tree.child)}
    above = np.repeat(np.arange(len(tree.kind)), tree.degree)

    def before(node: int) -> list[str]:
        edge = parents.get(node)
        return [] if edge is None else [*before(int(above[edge])), tree.actions[edge].name]

    return before


def shortened(names: list[str]) -> str:
    """Return actions and deals in short, with a slash between streets."""
    return "/".join(map(history, _streets(names)))


class StreetStrategy:
    """The strategy of a street of a small game: a row for each hand without suits, a column for each history.

    Attributes:
        columns: Names of the columns, at most `MOST_COLUMNS` of the shortest histories.
    """

    def __init__(self, game: PokerGame, street: int, actions: int) -> None:
        tree, buckets, before = game.tree, names_of(game, street), histories(game)
        self.rows = tuple(dict.fromkeys(buckets))
        nodes = map(int, np.flatnonzero((tree.kind == DECISION) & (tree.street == street)))
        shown = sorted(_shortest([(_streets(before(node)), node) for node in nodes]), key=_order)
        self.columns = tuple("/".join(map(history, streets)) for streets, _ in shown)
        self._shape = len(self.rows), len(shown), actions
        cells = [
            (self.rows.index(name), column, action.number, game.entry(node, bucket) + at)
            for column, (_, node) in enumerate(shown)
            for bucket, name in enumerate(buckets)
            for at, action in enumerate(tree.actions_of(node))
        ]
        *self._cells, self._entries = map(np.array, zip(*cells, strict=True))

    def write(self, table: Array, out: Array) -> None:
        """Write the probabilities of the average strategy, `(rows, columns, actions)` uint8."""
        sums = np.zeros(self._shape)
        np.add.at(sums, tuple(self._cells), table[self._entries, 1])
        out[:] = np.rint(WHOLE * shares(sums))


def _shortest(histories: list[tuple[list[list[str]], int]]) -> list[tuple[list[list[str]], int]]:
    """Return all histories up to the largest length with at most `MOST_COLUMNS` of them."""
    lengths = sorted(sum(map(len, streets)) for streets, _ in histories)
    longest = lengths[-1] if len(lengths) <= MOST_COLUMNS else lengths[MOST_COLUMNS] - 1
    return [item for item in histories if sum(map(len, item[0])) <= longest]


def _order(item: tuple[list[list[str]], int]) -> tuple[list[tuple[int, list[str]]], int, int]:
    """A sort key: by earlier streets, then by length."""
    (*earlier, last), node = item
    return [(len(names), names) for names in earlier], len(last), node


def _streets(names: list[str]) -> list[list[str]]:
    streets: list[list[str]] = [[]]
    for name in names:
        streets[-1].append(name) if name != "deal" else streets.append([])
    return streets


class SmallGameBuckets:
    """The buckets of a small game, whose hands are its buckets."""

    def __init__(self, game: PokerGame) -> None:
        self._counts = game.buckets

    def of(self, street: int, board: tuple[int, ...]) -> HeldBuckets:
        del board
        return np.arange(self._counts[street]), np.ones(self._counts[street], np.bool_)


class HoldemBuckets:
    """The buckets of all pairs of cards in hold'em."""

    def __init__(self, tables: BucketTables) -> None:
        flop, turn, river = ((tables.flops, tables.flop), (tables.turns, tables.turn), (tables.rivers, tables.river))
        self._streets = {3: flop, 4: turn, 5: river}
        self._pairs, self._rows = renamings()

    def of(self, street: int, board: tuple[int, ...]) -> HeldBuckets:
        """See `BucketLookup`; hands are pairs in the order of `HOLE_CARDS`."""
        del street
        free = np.array(~np.isin(HOLE_CARDS, board).any(axis=1), np.bool_)
        if not board:
            return HOLE_CLASSES, free
        places, buckets = self._streets[len(board)]
        bits = sorted((card & 3) * LANE + (card >> 2) for card in board)
        found = int(places[sum(comb(bit, taken) for taken, bit in enumerate(bits, 1))])
        renamed = self._pairs[self._rows[found & RENAMING_BITS]]
        return buckets[found >> RENAMING][renamed].astype(np.int64), free


def _classes() -> NDArray[np.int64]:
    high, low = SIDE - 1 - (HOLE_CARDS.T >> 2)
    suited = HOLE_CARDS[:, 0] & 3 == HOLE_CARDS[:, 1] & 3
    classes: NDArray[np.int64] = np.where(suited, high * SIDE + low, low * SIDE + high)
    return classes


HOLE_CLASSES = _classes()
"""`(1326,)`: the class of each pair of cards, an index into `CLASSES`."""


class DecisionStrategy:
    """The strategy at one decision for all hands.

    Attributes:
        hands: `(hands, actions)` probabilities; 0 for hands that were never visited.
        free: `(hands,)`, whether a hand is possible.
    """

    def __init__(self, game: PokerGame, table: Array, node: int, held: HeldBuckets, count: int) -> None:
        tree = game.tree
        bucket, self.free = held
        start = game.entry(node, 0) + bucket * int(tree.width[tree.street[node], tree.player[node]])
        numbers = [action.number for action in tree.actions_of(node)]
        self.hands = np.zeros((len(bucket), count))
        self.hands[:, numbers] = shares(table[start[:, None] + np.arange(len(numbers)), 1])
        self.hands[~self.free] = 0

    @property
    def overall(self) -> Array:
        """`(actions,)` mean probabilities over all hands."""
        found: Array = shares(self.hands.sum(axis=0))
        return found

    def write_classes(self, out: Array) -> None:
        """Write the probabilities by starting hand, `(13, 13, actions)` uint8."""
        sums = np.zeros((len(CLASSES), self.hands.shape[1]))
        np.add.at(sums, HOLE_CLASSES, self.hands)
        out[:] = np.rint(WHOLE * shares(sums)).reshape(out.shape)
