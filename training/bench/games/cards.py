"""Hands and deals per second, and the card abstraction's build time: `python -m pac.training.bench.games.cards`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np

from ....envs.fields import Array
from ....envs.poker.cards.abstraction import CardAbstraction, card_abstraction
from ....envs.poker.cards.compiled import compiled
from ....envs.poker.cards.deal import DEALT, PLAYERS, STREETS, deal_many, look_up_many
from ....envs.poker.cards.evaluator import strength
from ....envs.poker.cards.words import word_of
from .rates import median_rate

HANDS = 1 << 18
DEALS = 1 << 8
WORKERS = 2


@compiled
def strongest(words: Array) -> int:
    """Return the highest strength of hands, `(n,)` int64 words."""
    found = 0
    for word in words:
        found = max(found, strength(word))
    return found


@compiled
def join(cards: Array, words: Array) -> None:
    """Write the first seven cards of each hand as a word."""
    for hand in range(len(cards)):
        words[hand] = 0
        for card in cards[hand, :7]:
            words[hand] |= word_of(card)


def hands_per_second(seconds: float = 1.0) -> float:
    """Return how many random hands of seven cards one thread evaluates per second, without dealing them.

    Args:
        seconds: CPU time of the measurement, without compilation.
    """
    cards, words = np.empty((HANDS, DEALT), np.int64), np.empty(HANDS, np.int64)
    deal_many(np.uint64(0), np.uint64(0), cards)
    join(cards, words)

    def work() -> int:
        strongest(words)
        return HANDS

    return median_rate(work, seconds)


def deals_per_second(abstraction: CardAbstraction, seconds: float = 1.0) -> float:
    """Return how many deals to two players one thread makes per second, with buckets on all streets and the winner."""
    cards, buckets = np.empty((DEALS, DEALT), np.int64), np.empty((DEALS, STREETS, PLAYERS), np.int32)
    signs, dealt = np.empty(DEALS, np.int8), 0

    def work() -> int:
        nonlocal dealt
        deal_many(np.uint64(0), np.uint64(dealt), cards)
        look_up_many(abstraction.tables, cards, buckets, signs)
        dealt += DEALS
        return DEALS

    return median_rate(work, seconds)


def seconds_to_build(workers: int = WORKERS) -> tuple[float, CardAbstraction]:
    """Return the seconds to build and write a card abstraction with 50 buckets per street, and the abstraction.

    The file is deleted; the tables stay in memory while they are used.

    Args:
        workers: Number of threads.
    """
    with TemporaryDirectory() as folder:
        started = monotonic()
        found = card_abstraction(workers=workers, folder=Path(folder))
        return monotonic() - started, found


def main() -> None:
    """Print the figures."""
    sys.stdout.write(f"{hands_per_second():,.0f} random hands of seven cards evaluated per second on one core\n")
    for what in ("with compiling, if the kernels are not on the disk", "compiled"):
        seconds, found = seconds_to_build()
        sys.stdout.write(f"{seconds:.1f} s for a card abstraction on {WORKERS} threads, {what}\n")
    sys.stdout.write(f"{deals_per_second(found):,.0f} deals with all their buckets per second on one core\n")


if __name__ == "__main__":
    main()
