"""Fingerprints of what a solver's tables depend on: the betting tree, the card buckets and the number format."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import BadParameter
from ...envs.poker.cards.abstraction import CardAbstraction
from ...envs.poker.game import PokerGame
from ...envs.poker.tree import Tree
from .settings import MccfrSettings
from .solving.dealing import HOLDEM, abstraction_of

BETTING, CARDS, NUMBERS = "betting", "cards", "numbers"
WHAT = {
    BETTING: "other bet sizes or stacks. Restore the bet sizes",
    CARDS: "other card buckets. Restore their file in the cache",
    NUMBERS: "another method. Use the method of that run",
}
"""What differs and what to do, by fingerprint."""


def fingerprints_of(game: PokerGame, settings: MccfrSettings) -> dict[str, str]:
    cards = cards_fingerprint(abstraction_of(game)) if game.name == HOLDEM else {}
    return {**betting_fingerprint(game), **cards, NUMBERS: "float32" if settings.sampled else "float64"}


def betting_fingerprint(game: PokerGame) -> dict[str, str]:
    """Return the fingerprint of a game's betting: a checksum of all nodes and actions."""
    return {BETTING: _checksum(game.tree)}


def cards_fingerprint(abstraction: CardAbstraction) -> dict[str, str]:
    """Return the fingerprint of the card buckets of hold'em."""
    return {CARDS: abstraction.checksum}


def check_fingerprints(saved: Mapping[str, str], ours: Mapping[str, str], spec: str) -> None:
    """Compare saved fingerprints with the present ones, where both are known.

    Raises:
        BadParameter: They differ. The message says in what.
    """
    for name in ours.keys() & saved.keys():
        if ours[name] != saved[name]:
            raise BadParameter(f"the checkpoint of {spec} was trained with {WHAT[name]}, or start a new run")


def table_of(saved: Mapping[str, Any], game: PokerGame, spec: str) -> NDArray[np.floating]:
    """Return the table among the tensors of a checkpoint, `(entries, 2)`.

    Raises:
        BadParameter: It is not a table of this game, or contains NaN or infinite values.
    """
    table: NDArray[np.floating] = np.asarray(saved.get("table", ()))
    if table.shape != (game.entries, 2) or table.dtype.kind != "f":
        raise BadParameter(
            f"{spec} needs a table of {game.entries:,} x 2 numbers, the checkpoint has {table.shape}: start a new run"
        )
    if not np.isfinite([table.min(), table.max()]).all():
        raise BadParameter(f"the checkpoint of {spec} contains NaN or infinite values: start a new run")
    return table


def _checksum(tree: Tree) -> str:
    names = ("kind", "player", "street", "paid", "result", "degree", "child")
    found = sha256(b"".join(np.ascontiguousarray(getattr(tree, name)).tobytes() for name in names))
    found.update(np.array([(action.chips, action.number) for action in tree.actions]).tobytes())
    return found.hexdigest()
