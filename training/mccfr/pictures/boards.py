"""The boards of a solver's workers: the strategy, and a hand that is played with it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....envs import Field, Panel, Task, find
from ....envs.fields import Array, Buffers
from ....envs.poker.cards.notation import CLASSES
from ....envs.poker.families import FAMILIES, game_of
from ....envs.poker.game import PokerGame
from ....envs.poker.layout import BOARD, DEAL, HANDS, NODE
from ....envs.task import allocate
from ..solving.dealing import abstraction_of
from .grids import SIDE, BucketLookup, DecisionStrategy, HoldemBuckets, SmallGameBuckets, StreetStrategy, glyphs_of

PACE = 1.0
"""Seconds between two actions of the displayed hand."""
SAMPLE = 1 << 18
"""The most rows that are read for the statistics of a street; of larger tables, evenly spaced ones."""
STATISTICS = ("seen", "rows", "bkts", "upds")
"""Of every street: the share of visited rows, the number of rows, buckets, and the mean updates per row."""
OPEN_CARDS = (0, 3, 4, 5)
"""The number of board cards in hold'em, by street."""
HERE, OPENING = "grid", "opening"


class StrategyGrid(NamedTuple):
    """A grid of action probabilities: its field, its title, and the names of its rows and columns, or of its cells."""

    field: str
    title: str
    shape: tuple[int, int]
    rows: tuple[str, ...]
    columns: tuple[str, ...] = ()


def _grids(task: Task, wholes: list[StreetStrategy]) -> list[StrategyGrid]:
    if not wholes:
        titles = {HERE: "Strategy at this decision", OPENING: "First decision"}
        return [StrategyGrid(field, title, (SIDE, SIDE), CLASSES) for field, title in titles.items()]
    streets = FAMILIES[task.name].streets
    titled = [f"Strategy, {name} round" if name else "Strategy" for name in streets]
    return [
        StrategyGrid(f"street{at}", title, (len(whole.rows), len(whole.columns)), whole.rows, whole.columns)
        for at, (title, whole) in enumerate(zip(titled, wholes, strict=True))
    ]


def _wholes(task: Task, game: PokerGame) -> list[StreetStrategy]:
    """The complete strategy of every street; empty for games whose deals are not listed."""
    if game.deals is None:
        return []
    return [StreetStrategy(game, street, len(task.action_names)) for street in range(game.tree.streets)]


def shown(task: Task) -> tuple[tuple[Panel, ...], tuple[Field, ...]]:
    """Return the panels of a solver's workers and the fields that they draw into.

    Args:
        task: The game.
    """
    game, glyphs, actions = game_of(task), glyphs_of(task), len(task.action_names)
    grids = _grids(task, _wholes(task, game))
    drawn = [
        Panel("grid", grid.title, grid.field, grid.rows, glyphs, main=not at, columns=grid.columns)
        for at, grid in enumerate(grids)
    ]
    grounds = tuple(glyph.ground for glyph in glyphs)
    names = tuple(name or "all" for name in FAMILIES[task.name].streets)
    panels = (
        drawn[0],
        *(replace(panel, main=False) for panel in task.panels),
        Panel("bars", "This decision", "decision", task.action_names, full=1, columns=("hand", "all"), colors=grounds),
        *drawn[1:],
        Panel("bars", "Streets", "streets", names, full=1, columns=STATISTICS),
    )
    fields = (
        *(Field(grid.field, "uint8", (*grid.shape, actions), timed=False) for grid in grids),
        *task.boards,
        Field("decision", "float32", (actions, 2), timed=False),
        Field("streets", "float32", (len(names), len(STATISTICS)), timed=False),
        Field("looked_at", "uint8", timed=False),
    )
    return panels, fields


class DisplayedHand:
    """A hand of the game that is played for display.

    Attributes:
        picture: Its board, as the game draws it.
    """

    def __init__(self, task: Task, game: PokerGame, seed: int) -> None:
        self._game, self._buffers = game, allocate(task, 1)
        self._hands = task.make(0, 1, self._buffers, seed)
        self._hands.reset(np.ones(1, np.bool_), 0)
        self._state: Array = self._buffers["state"][0, 0]
        (board,) = task.boards
        self.picture: Array = self._buffers[board.name][0, 0]

    @property
    def node(self) -> int:
        """The present decision."""
        return int(self._state[NODE])

    @property
    def board(self) -> tuple[int, ...]:
        """The board cards of hold'em."""
        return tuple(self._state[BOARD:][: OPEN_CARDS[self._game.tree.street[self.node]]].tolist())

    @property
    def held(self) -> int:
        """The index of the deciding player's hand: a bucket of a small game, a pair of cards in hold'em."""
        tree, player = self._game.tree, int(self._game.tree.player[self.node])
        if self._game.deals is not None:
            return int(self._game.deals.bucket[self._state[DEAL], tree.street[self.node], player])
        one, other = sorted(self._state[HANDS + 2 * player :][:2].tolist())
        return int(other * (other - 1) // 2 + one)

    def act(self, number: int) -> None:
        """Take an action. After the last action of a hand the next hand starts."""
        self._buffers["action"][0, int(self._game.tree.player[self.node])] = number
        self._hands.step(0)


class WorkerBoards:
    """Draws one worker's boards.

    Args:
        task: The game.
        table: `(entries, 2)` regrets and sums of the average strategy.
        updates: `(rows,)` updates of every row.
        seed: Seed of the hands.
    """

    def __init__(self, task: Task, table: Array, updates: Array, seed: int) -> None:
        self._game, self._actions = game_of(task), len(task.action_names)
        self._table, self._updates = table, updates
        self._wholes = _wholes(task, self._game)
        self._buckets: BucketLookup = (
            SmallGameBuckets(self._game) if self._wholes else HoldemBuckets(abstraction_of(self._game).tables)
        )
        self._hand, self._random = DisplayedHand(task, self._game, seed), np.random.default_rng(seed)
        self._due = 0.0

    def draw(self, out: dict[str, Array]) -> None:
        """Write the boards into `out`, by field, and play the next action if it is due."""
        decision = self._decision()
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + PACE
            mine = decision.hands[self._hand.held]
            if mine.any():
                self._hand.act(int(self._random.choice(len(mine), p=mine)))
                decision = self._decision()
        for street, whole in enumerate(self._wholes):
            whole.write(self._table, out[f"street{street}"])
        if not self._wholes:
            decision.write_classes(out[HERE])
            self._at(0, ()).write_classes(out[OPENING])
        out["hand"][...] = self._hand.picture
        out["decision"][...] = np.round([decision.hands[self._hand.held], decision.overall], 3).T
        out["streets"][...] = self._statistics()

    def _decision(self) -> DecisionStrategy:
        return self._at(self._hand.node, self._hand.board)

    def _at(self, node: int, board: tuple[int, ...]) -> DecisionStrategy:
        held = self._buckets.of(int(self._game.tree.street[node]), board)
        return DecisionStrategy(self._game, self._table, node, held, self._actions)

    def _statistics(self) -> NDArray[np.float64]:
        found = []
        for street, buckets in enumerate(self._game.buckets):
            first = int(self._game.row_base[street, 0])
            count = int(self._game.tree.decisions[street].sum()) * buckets
            rows = self._updates[first : first + count : -(-count // SAMPLE)]
            found.append((np.count_nonzero(rows) / len(rows), count, buckets, rows.mean()))
        return np.round(found, 3)


class SolverBoards:
    """Draws the boards of workers `lo..hi` that a viewer displays.

    Args:
        task: The transformed task.
        lo: First worker.
        hi: One past the last.
        buffers: The arrays of the task's fields, for all workers.
        seed: The run's seed.
    """

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self._task, self._lo, self._seed = find(task.spec), lo, seed
        self._shared = buffers["table"][0, 0], buffers["updates"][0, 0]
        self._asked = buffers["looked_at"][0, lo:hi]
        self._out = [{item.name: buffers[item.name][0, lo + at] for item in task.boards} for at in range(hi - lo)]
        self._workers: dict[int, WorkerBoards] = {}

    def draw(self) -> None:
        if not self._asked.any():
            return
        for at in np.flatnonzero(self._asked).tolist():
            if at not in self._workers:
                seed = self._seed + self._lo + at
                self._workers[at] = WorkerBoards(self._task, *self._shared, seed)
            self._workers[at].draw(self._out[at])
            self._asked[at] = 0
