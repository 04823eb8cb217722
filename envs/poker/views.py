"""The arrays of the buffers and of the game as the kernels see them, rebuilt from a table of addresses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from ..fields import Array, Buffers
from ..native import STANDARD, Common, addresses, common, pointer
from ..task import Task
from .compiled import compiled
from .families import FAMILIES, game_of, layout_of
from .layout import PLAYERS
from .looks import LABEL, faces_of, labels_of, lines_of, template_of

NAMES = (*STANDARD, "pot", "street", "hand", "final_hand", "final_drawn")
"""The fields whose addresses are in a table, after its numbers."""


class PokerDimensions(NamedTuple):
    """The numbers at the head of a table.

    Attributes:
        slots: Of the buffers.
        envs: Environments.
        actions: All actions that the game has.
        mask: Bytes of a mask.
        observed: Numbers of an observation.
        words: Of a state.
        longest: No street has more actions.
        cards: Different cards.
        held: Cards that a player holds.
        streets: Streets.
        nodes: Of the tree.
        edges: Of the tree.
        deals: All deals of a small game, or 0.
        results: Results that a showdown can have.
        most: The most chips that one can put in.
        lines: Of the picture.
        columns: Of the picture.
        street_lines: Of the picture, for each street.
        chips: Whether the picture has them.
    """

    slots: int
    envs: int
    actions: int
    mask: int
    observed: int
    words: int
    longest: int
    cards: int
    held: int
    streets: int
    nodes: int
    edges: int
    deals: int
    results: int
    most: int
    lines: int
    columns: int
    street_lines: int
    chips: int


class PokerViews(NamedTuple):
    """What kernels read and write, `(slots, rows, ...)`; what has no slot has no first axis."""

    common: Common
    mask: Array
    observation: Array
    final: Array
    state: Array
    pot: Array
    street: Array
    picture: Array
    last_picture: Array
    last_drawn: Array


class GameArrays(NamedTuple):
    """The game's arrays: of its tree, of its deals, and of its looks.

    Attributes:
        at: `(edges,)` int32, the node of an edge.
        number: `(edges,)` uint8, the number of its action.
        board: `(streets,)` int64, cards that lie open.
        hands: `(deals, 2)`, as `Deals` has them, and so `face` and `sign`.
        template: The picture without what changes.
        faces: `(cards, 2)` cells.
        labels: `(edges, LABEL)` letters.
    """

    kind: Array
    player: Array
    on: Array
    paid: Array
    result: Array
    first: Array
    degree: Array
    child: Array
    at: Array
    number: Array
    board: Array
    hands: Array
    face: Array
    sign: Array
    template: Array
    faces: Array
    labels: Array


class AddressTable:
    """A table of a task's `buffers`, which must outlive it, and the arrays of its game.

    Attributes:
        words: `(...)` int64: numbers, then addresses.
        numbers: The numbers.
        rules: The game's arrays.

    Raises:
        ValueError: A field is not what the task describes, or not one contiguous block.
    """

    def __init__(self, task: Task, buffers: Buffers) -> None:
        self.rules, self.numbers = _rules(task, *buffers["episode_length"].shape)
        where = addresses(task, buffers, NAMES)
        self.words = np.array([*self.numbers, *where, *(array.ctypes.data for array in self.rules)], np.int64)


def _rules(task: Task, slots: int, envs: int) -> tuple[GameArrays, PokerDimensions]:
    game, layout = game_of(task), layout_of(task)
    tree, deals = game.tree, game.deals
    most = int(tree.paid.max())
    chips, stack = most > 1, most if deals is None else 0
    template = template_of(layout, FAMILIES[task.name].streets, chips=chips, stack=stack)
    none = np.zeros((1, PLAYERS), np.uint8)
    sign = np.zeros((1, 1), np.int8) if deals is None else deals.sign
    rules = GameArrays(
        kind=tree.kind,
        player=tree.player,
        on=tree.street,
        paid=tree.paid,
        result=tree.result,
        first=tree.first,
        degree=tree.degree,
        child=tree.child,
        at=np.repeat(np.arange(len(tree.kind), dtype=np.int32), tree.degree),
        number=np.array([action.number for action in tree.actions], np.uint8),
        board=np.array(layout.board, np.int64),
        hands=none if deals is None else deals.hands,
        face=none[:, 0].copy() if deals is None else deals.board,
        sign=sign,
        template=template,
        faces=faces_of(game, layout),
        labels=labels_of(tree.actions),
    )
    numbers = PokerDimensions(
        slots=slots,
        envs=envs,
        actions=len(layout.actions),
        mask=-(-len(layout.actions) // 8),
        observed=layout.observed,
        words=layout.words,
        longest=layout.longest,
        cards=layout.cards,
        held=layout.hand,
        streets=layout.streets,
        nodes=len(tree.kind),
        edges=len(tree.child),
        deals=0 if deals is None else len(deals.hands),
        results=sign.shape[1],
        most=most,
        lines=template.shape[0],
        columns=template.shape[1],
        street_lines=lines_of(layout),
        chips=int(chips),
    )
    return GameArrays(*(np.ascontiguousarray(array) for array in rules)), numbers


HEAD = len(PokerDimensions._fields)
AT_RULES = HEAD + len(NAMES)
AT_INFO = HEAD + len(STANDARD)


@compiled
def numbers(at: NDArray[np.int64]) -> PokerDimensions:
    """Read the numbers of a table."""
    return PokerDimensions(
        at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8], at[9],
        at[10], at[11], at[12], at[13], at[14], at[15], at[16], at[17], at[18],
    )  # fmt: skip


@compiled
def views(at: NDArray[np.int64]) -> PokerViews:
    """Rebuild the arrays of the buffers from a table."""
    n = numbers(at)
    hands = (n.slots, n.envs)
    seen = (n.slots, n.envs * PLAYERS, n.observed)
    return PokerViews(
        common=common(at, HEAD, PLAYERS, 0),
        mask=carray(pointer(at[HEAD + 1], np.uint8), (n.slots, n.envs * PLAYERS, n.mask)),
        observation=carray(pointer(at[HEAD + 2], np.float32), seen),
        final=carray(pointer(at[HEAD + 3], np.float32), seen),
        state=carray(pointer(at[HEAD + 15], np.int64), (n.envs, n.words)),
        pot=carray(pointer(at[AT_INFO], np.float32), hands),
        street=carray(pointer(at[AT_INFO + 1], np.int32), hands),
        picture=carray(pointer(at[AT_INFO + 2], np.uint32), (n.envs, n.lines, n.columns)),
        last_picture=carray(pointer(at[AT_INFO + 3], np.uint32), (n.envs, n.lines, n.columns)),
        last_drawn=carray(pointer(at[AT_INFO + 4], np.int64), (n.envs,)),
    )


@compiled
def rules(at: NDArray[np.int64]) -> GameArrays:
    """Rebuild the arrays of the game from a table."""
    n = numbers(at)
    return GameArrays(
        kind=carray(pointer(at[AT_RULES], np.uint8), (n.nodes,)),
        player=carray(pointer(at[AT_RULES + 1], np.uint8), (n.nodes,)),
        on=carray(pointer(at[AT_RULES + 2], np.uint8), (n.nodes,)),
        paid=carray(pointer(at[AT_RULES + 3], np.float32), (n.nodes, PLAYERS)),
        result=carray(pointer(at[AT_RULES + 4], np.int16), (n.nodes,)),
        first=carray(pointer(at[AT_RULES + 5], np.int32), (n.nodes,)),
        degree=carray(pointer(at[AT_RULES + 6], np.uint8), (n.nodes,)),
        child=carray(pointer(at[AT_RULES + 7], np.int32), (n.edges,)),
        at=carray(pointer(at[AT_RULES + 8], np.int32), (n.edges,)),
        number=carray(pointer(at[AT_RULES + 9], np.uint8), (n.edges,)),
        board=carray(pointer(at[AT_RULES + 10], np.int64), (n.streets,)),
        hands=carray(pointer(at[AT_RULES + 11], np.uint8), (max(n.deals, 1), PLAYERS)),
        face=carray(pointer(at[AT_RULES + 12], np.uint8), (max(n.deals, 1),)),
        sign=carray(pointer(at[AT_RULES + 13], np.int8), (max(n.deals, 1), n.results)),
        template=carray(pointer(at[AT_RULES + 14], np.uint32), (n.lines, n.columns)),
        faces=carray(pointer(at[AT_RULES + 15], np.uint32), (n.cards, 2)),
        labels=carray(pointer(at[AT_RULES + 16], np.uint32), (n.edges, LABEL)),
    )
