"""The memory layout of a hand's state and of an observation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

PLAYERS = 2
CHIPS = 3
"""Number of elements about chips in an observation: what both seats have put in, and the cost of a call."""

# A hand's words.
RUN_SEED = 0
EPISODES = 1
RANDOM = 2
NODE = 3
STEPS = 4
DEAL = 5
"""The index of the deal of a small game."""
LAST = 6
"""Chips that seat 1 won with the last hand."""
HANDS = 7
"""Two cards of each player; small games use the first."""
BOARD = HANDS + 2 * PLAYERS
HISTORY = BOARD + 5
"""The edges of the actions so far, each plus one, followed by zeros."""


@dataclass(frozen=True)
class HandLayout:
    """The sizes of a game's states and observations.

    Attributes:
        longest: The most actions of a street.
        cards: Number of different cards, or faces of a die.
        hand: Number of cards that a player holds.
        board: Number of open cards by street.
    """

    actions: tuple[str, ...]
    longest: int
    cards: int
    hand: int = 1
    board: tuple[int, ...] = (0,)

    @property
    def streets(self) -> int:
        return len(self.board)

    @property
    def moves(self) -> int:
        """The most actions of a hand."""
        return self.streets * self.longest

    @property
    def words(self) -> int:
        return HISTORY + self.moves

    @property
    def slices(self) -> dict[str, tuple[int, int]]:
        """The range of each part of an observation.

        `seat`, `hand`, `board` and `street` are one-hot or multi-hot. `chips` are shares of the most chips that can be
        put in. `history` has a one-hot group for each action of each street.
        """
        sizes = {
            "seat": PLAYERS,
            "hand": self.cards,
            "board": self.cards if max(self.board) else 0,
            "street": self.streets,
            "chips": CHIPS,
            "history": self.moves * len(self.actions),
        }
        ends = dict(zip(sizes, accumulate(sizes.values()), strict=True))
        return {name: (ends[name] - size, ends[name]) for name, size in sizes.items() if size}

    @property
    def observed(self) -> int:
        return self.slices["history"][1]
