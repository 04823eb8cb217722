"""How fast cards are counted: `python -m pac.envs.poker.cards.bench`; builds the card abstraction twice."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np

from ...native import stream
from ...rates import median_rate
from ...task import Array
from .abstraction import CardAbstraction, card_abstraction
from .compiled import compiled
from .deal import DEALT, PLAYERS, STREETS, Tables, deal, look_up
from .evaluator import strength
from .words import word_of

HANDS = 1 << 18
DEALS = 1 << 12
WORKERS = 2


@compiled
def strongest(words: Array) -> int:
    """The highest strength of hands, `(n,)` int64 words."""
    found = 0
    for word in words:
        found = max(found, strength(word))
    return found


@compiled
def deal_words(seed: int, words: Array) -> None:
    """Deal a random hand of seven cards into each of `(n,)` int64 words."""
    random, cards = np.empty(1, np.uint64), np.empty(DEALT, np.int64)
    random[0] = stream(np.uint64(seed), np.uint64(0))
    for hand in range(len(words)):
        deal(random, cards)
        words[hand] = 0
        for card in cards[:7]:
            words[hand] |= word_of(card)


@compiled
def deal_and_look_up(tables: Tables, first: int, count: int, cards: Array, buckets: Array) -> int:
    """Deal hands of two players, each of its own stream, and look up all their buckets; returns who won more often."""
    random = np.empty(1, np.uint64)
    won = 0
    for number in range(first, first + count):
        random[0] = stream(np.uint64(0), np.uint64(number))
        deal(random, cards)
        won += look_up(tables, cards, buckets)
    return won


def hands_per_second(seconds: float = 1.0) -> float:
    """Random hands of seven cards that one thread evaluates per second; dealing them is not counted.

    Args:
        seconds: Processor time to spend, compilation not counted.
    """
    words = np.empty(HANDS, np.int64)
    deal_words(0, words)

    def work() -> int:
        strongest(words)
        return HANDS

    return median_rate(work, seconds)


def deals_per_second(abstraction: CardAbstraction, seconds: float = 1.0) -> float:
    """Hands of two players that one thread deals per second, with their buckets on all streets and the winner."""
    cards, buckets = np.empty(DEALT, np.int64), np.empty((STREETS, PLAYERS), np.int32)
    dealt = 0

    def work() -> int:
        nonlocal dealt
        deal_and_look_up(abstraction.tables, dealt, DEALS, cards, buckets)
        dealt += DEALS
        return DEALS

    return median_rate(work, seconds)


def main() -> None:
    """Print the figures."""
    sys.stdout.write(f"{hands_per_second():,.0f} random hands of seven cards evaluated per second on one core\n")
    with TemporaryDirectory() as folder:
        for what in ("with compiling, if the kernels are not on the disk", "compiled"):
            started = monotonic()
            found = card_abstraction(workers=WORKERS, folder=Path(folder))
            found.path.unlink()
            seconds = monotonic() - started
            sys.stdout.write(f"{seconds:.1f} s for a card abstraction on {WORKERS} threads, {what}\n")
        rate = deals_per_second(found)
    sys.stdout.write(f"{rate:,.0f} deals with all their buckets per second on one core\n")


if __name__ == "__main__":
    main()
