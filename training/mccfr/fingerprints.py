"""What a solver's tables belong to: they tell nothing of another betting tree, other buckets, other numbers."""

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
    BETTING: "other bets or stacks: put the menu of bets back as it was",
    CARDS: "other buckets of cards: put its file back into the cache",
    NUMBERS: "another method: leave the one that it had",
}
"""What differs, and what to do, by mark."""


def fingerprints_of(game: PokerGame, settings: MccfrSettings) -> dict[str, str]:
    """Return all marks of a game that is prepared."""
    cards = cards_fingerprint(abstraction_of(game)) if game.name == HOLDEM else {}
    return {**betting_fingerprint(game), **cards, NUMBERS: "float32" if settings.sampled else "float64"}


def betting_fingerprint(game: PokerGame) -> dict[str, str]:
    """Return the mark of a game's betting: a checksum of all its nodes and actions."""
    return {BETTING: _checksum(game.tree)}


def cards_fingerprint(abstraction: CardAbstraction) -> dict[str, str]:
    """Return the mark of hold'em's buckets."""
    return {CARDS: abstraction.checksum}


def check_fingerprints(saved: Mapping[str, str], ours: Mapping[str, str], spec: str) -> None:
    """Compare the marks that were saved with those of now, as far as both are known.

    Raises:
        BadParameter: They differ; the sentence tells in what.
    """
    for name in ours.keys() & saved.keys():
        if ours[name] != saved[name]:
            raise BadParameter(f"what was saved of {spec} was learned with {WHAT[name]}, or start a new run")


def table_of(saved: Mapping[str, Any], game: PokerGame, spec: str) -> NDArray[np.floating]:
    """Return the table among the tensors of a checkpoint, `(entries, 2)`.

    Raises:
        BadParameter: It is none of this game, or holds what is no finite number.
    """
    table: NDArray[np.floating] = np.asarray(saved.get("table", ()))
    if table.shape != (game.entries, 2) or table.dtype.kind != "f":
        raise BadParameter(
            f"{spec} has a table of {game.entries:,} x 2 numbers, and one of {table.shape} was saved: start a new run"
        )
    if not np.isfinite([table.min(), table.max()]).all():
        raise BadParameter(f"what was saved of {spec} holds what is no finite number: start a new run")
    return table


def _checksum(tree: Tree) -> str:
    names = ("kind", "player", "street", "paid", "result", "degree", "child")
    found = sha256(b"".join(np.ascontiguousarray(getattr(tree, name)).tobytes() for name in names))
    found.update(np.array([(action.chips, action.number) for action in tree.actions]).tobytes())
    return found.hexdigest()
