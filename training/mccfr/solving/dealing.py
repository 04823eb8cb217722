"""Deals hands for the sampling kernels, a block of iterations at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ....backends import usable_cores
from ....envs.native import GOLDEN, mixed, stream
from ....envs.poker.game import PokerGame
from ..compiled import compiled
from .public_tree import DealtHands, all_deals

if TYPE_CHECKING:
    from ....envs.poker.cards.abstraction import CardAbstraction

HOLDEM = "holdem"


class Dealer(Protocol):
    """Deals hands for a block of iterations.

    Attributes:
        block: The most iterations per call.
    """

    block: int

    def deal(self, seed: int, first: int, count: int) -> tuple[DealtHands, NDArray[np.uint32]]:
        """Return deals and the index of the deal of each of `count` iterations. Iteration k draws from stream k."""


class ListDealer:
    """Draws from the list of all deals of a small game."""

    block = 4096

    def __init__(self, game: PokerGame) -> None:
        self._hands = all_deals(game)
        self._chosen = np.zeros(self.block, np.uint32)

    def deal(self, seed: int, first: int, count: int) -> tuple[DealtHands, NDArray[np.uint32]]:
        """Draw one deal for each iteration."""
        chosen = self._chosen[:count]
        choose_deals(np.uint64(seed), np.uint64(first), len(self._hands.entries), chosen)
        return self._hands, chosen


def prepare(game: PokerGame, tell: Callable[[str], None], progress: Callable[[str, float], None]) -> None:
    """Build the card abstraction of hold'em on all cores, or verify the one in the cache.

    Args:
        game: The game that will be dealt.
        tell: Called with a sentence about what takes long.
        progress: Called with what is being built and the share that is done. An exception that it raises stops this.
    """
    if game.name == HOLDEM:
        from ....envs.poker.cards.abstraction import card_abstraction, path_of

        _, flop, turn, river = game.buckets
        if not path_of((flop, turn, river)).exists():
            tell(f"building the card abstraction of {flop} / {turn} / {river} buckets, once")

        def report(what: str, share: float) -> None:
            progress(f"building the card abstraction: {what}", share)

        card_abstraction((flop, turn, river), workers=usable_cores(), progress=report)


def dealer_of(game: PokerGame) -> Dealer:
    """Return the dealer of a prepared game.

    Raises:
        ValueError: The game is not hold'em and does not list its deals.
    """
    if game.name != HOLDEM:
        return ListDealer(game)
    from .cards import CardDealer

    return CardDealer(game, abstraction_of(game))


def abstraction_of(game: PokerGame) -> CardAbstraction:
    """Return the prepared card abstraction of hold'em. All processes share its memory."""
    from ....envs.poker.cards.abstraction import card_abstraction, open_abstraction, path_of

    _, flop, turn, river = game.buckets
    path = path_of((flop, turn, river))
    return open_abstraction(path) if path.exists() else card_abstraction((flop, turn, river))


@compiled
def choose_deals(seed: np.uint64, first: np.uint64, deals: int, chosen: NDArray[np.uint32]) -> None:
    """Fill `chosen` with numbers below `deals`; the bias is below `deals / 2^31`."""
    for index in range(len(chosen)):
        word = mixed(stream(seed, first + np.uint64(index)) + GOLDEN)
        chosen[index] = (np.int64(word >> np.uint64(33)) * deals) >> 31
