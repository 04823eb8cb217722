"""The games of this folder: names, parameters, layouts in memory, and how they are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import BadParameter
from ..family import Parameter
from ..naming import Names
from ..task import Task, load
from .layout import HandLayout

if TYPE_CHECKING:
    from .game import PokerGame

POKER_ACTIONS = ("fold", "check or call", "bet or raise")
MOST_RAISES = 2
"""Of a street of Leduc."""


@dataclass(frozen=True)
class PokerFamily:
    """A game.

    Attributes:
        title: Its name for people.
        layout: Returns its layout in memory for the values of the parameters.
        build: Returns the game for the values of the parameters.
        streets: Names of its streets, if there are several.
    """

    title: str
    parameters: tuple[Parameter, ...]
    layout: Callable[..., HandLayout]
    build: Callable[..., PokerGame]
    streets: tuple[str, ...] = ("",)


def _of(place: str) -> Callable[..., PokerGame]:
    """Return what calls `module:function` of this package, which is imported when a game is built."""

    def build(**values: Any) -> PokerGame:
        game: PokerGame = load(place, __package__)(**values)
        return game

    return build


def _holdem_layout(betting: str, **_: object) -> HandLayout:
    """Return the layout: a street has at most a check, the allowed raises, one more all-in, and a call."""
    from .sizes import sizes_of

    sizes = sizes_of(betting)
    names = ("fold", "check or call", *(size.name for size in sizes.offered))
    return HandLayout(names, max(sizes.max_raises) + 3, 52, 2, (0, 3, 4, 5))


def _leduc_layout(*, suits: bool) -> HandLayout:
    """Return the layout: a street has at most a check, the raises and a call; observed cards always have suits."""
    del suits
    return HandLayout(POKER_ACTIONS, MOST_RAISES + 2, 6, 1, (0, 1))


def _dice_layout(faces: int) -> HandLayout:
    from .small import bid_name

    bids = tuple(bid_name(bid, faces) for bid in range(2 * faces))
    return HandLayout((*bids, "liar"), 2 * faces + 1, faces)


def _buckets(street: str) -> Parameter:
    return Parameter(street, 50, low=1, high=20_000, help=f"number of hand buckets on the {street}")


FAMILIES: Mapping[str, PokerFamily] = {
    "kuhn": PokerFamily("Kuhn poker", (), lambda: HandLayout(POKER_ACTIONS, 3, 3), _of(".small:kuhn")),
    "leduc": PokerFamily(
        "Leduc poker",
        (Parameter("suits", default=True, help="distinguish the suits: 936 information sets instead of 288"),),
        _leduc_layout,
        _of(".small:leduc"),
        ("first", "second"),
    ),
    "liars_dice": PokerFamily(
        "Liar's dice",
        (Parameter("faces", 6, low=2, high=6, help="faces per die; the highest is wild"),),
        _dice_layout,
        _of(".small:liars_dice"),
    ),
    "holdem": PokerFamily(
        "Heads-up no-limit hold'em",
        (
            Parameter(
                "betting",
                "standard",
                help="bet sizes: standard, fcpa, wide, or a YAML or JSON file",
                names=Names.FILE,
                own=("standard", "fcpa", "wide"),
            ),
            Parameter("stack", 100, low=2, high=1000, help="initial stack of each player, in big blinds"),
            *(_buckets(street) for street in ("flop", "turn", "river")),
        ),
        _holdem_layout,
        _of(".holdem:holdem_of"),
        ("preflop", "flop", "turn", "river"),
    ),
}


def has_game(task: Task) -> bool:
    return task.name in FAMILIES


def layout_of(task: Task) -> HandLayout:
    """Return the layout of a task's game in memory."""
    return FAMILIES[task.name].layout(**task.values)


def game_of(task: Task) -> PokerGame:
    """Return the game of a task, which is built once per process.

    Raises:
        BadParameter: The task is not one of these games.
    """
    if not has_game(task):
        raise BadParameter(f"{task.name} has no betting tree; these games have one: {', '.join(sorted(FAMILIES))}")
    return _built(task.name, tuple(sorted(task.values.items())))


@cache
def _built(name: str, values: tuple[tuple[str, Any], ...]) -> PokerGame:
    return FAMILIES[name].build(**dict(values))
