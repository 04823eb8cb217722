"""The arrays of the buffers and of the game as the kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fields import Array, Buffers
from ..kernel_tables import CommonViews, FieldArrays, common_views, table_of
from ..task import Task
from .families import FAMILIES, game_of, layout_of
from .layout import PLAYERS
from .looks import faces_of, labels_of, lines_of, template_of


class PokerDimensions(NamedTuple):
    """The numbers of a game that its arrays do not show.

    Attributes:
        actions: All actions that the game has.
        words: Of a state.
        longest: No street has more actions.
        cards: Different cards.
        held: Cards that a player holds.
        deals: All deals of a small game, or 0.
        most: The most chips that one can put in.
        lines: Of the picture.
        columns: Of the picture.
        street_lines: Of the picture, for each street.
        chips: Whether the picture has them.
    """

    actions: int
    words: int
    longest: int
    cards: int
    held: int
    streets: int
    deals: int
    most: int
    lines: int
    columns: int
    street_lines: int
    chips: int


class HandViews(NamedTuple):
    """What kernels read and write of hands, `(slots, rows, ...)`; what has no slot has no first axis."""

    common: CommonViews
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


class PokerViews(NamedTuple):
    """All that kernels work on."""

    hands: HandViews
    game: GameArrays
    dimensions: PokerDimensions


def views_of(task: Task, buffers: Buffers) -> PokerViews:
    """Return the views of a task's `buffers`, and the arrays of its game.

    Raises:
        ValueError: A field is not what the kernels expect, or not one contiguous block.
    """
    fields = FieldArrays(task, buffers)
    hands = fields.views(
        HandViews,
        common=common_views(fields),
        mask=fields["action_mask"],
        final=fields.last_observations(),
        picture=fields["hand"],
        last_picture=fields["final_hand"],
        last_drawn=fields["final_drawn"],
    )
    return PokerViews(hands, *game_arrays(task))


def game_arrays(task: Task) -> tuple[GameArrays, PokerDimensions]:
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
        actions=len(layout.actions),
        words=layout.words,
        longest=layout.longest,
        cards=layout.cards,
        held=layout.hand,
        streets=layout.streets,
        deals=0 if deals is None else len(deals.hands),
        most=most,
        lines=template.shape[0],
        columns=template.shape[1],
        street_lines=lines_of(layout),
        chips=int(chips),
    )
    return GameArrays(*(np.ascontiguousarray(array) for array in rules)), numbers


TABLE = table_of(views_of, next(iter(FAMILIES)))
views = TABLE.unpack
