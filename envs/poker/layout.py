"""How a game of this folder lies in memory: a hand's words of 64 bits, and the numbers of an observation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

PLAYERS = 2
CHIPS = 3
"""Numbers of an observation about chips: what its seat and the other one have put in, what a call costs."""

# A hand's words.
RUN_SEED = 0
EPISODES = 1
RANDOM = 2
NODE = 3
STEPS = 4
DEAL = 5
"""Which of a small game's deals it is."""
LAST = 6
"""Chips that seat 1 won with the last hand."""
HANDS = 7
"""Two cards of each player, of which small games use the first."""
BOARD = HANDS + 2 * PLAYERS
HISTORY = BOARD + 5
"""The edges that the hand has taken, each plus one, and zeros behind the last."""


@dataclass(frozen=True)
class HandLayout:
    """What a game's stepping needs to know of it, beside its tree.

    Attributes:
        actions: Names of its actions, by their number.
        longest: No street has more actions than this.
        cards: How many different cards, or faces of a die, there are.
        hand: Cards that a player holds.
        board: Cards that lie open, by street.
    """

    actions: tuple[str, ...]
    longest: int
    cards: int
    hand: int = 1
    board: tuple[int, ...] = (0,)

    @property
    def streets(self) -> int:
        """Number of streets."""
        return len(self.board)

    @property
    def moves(self) -> int:
        """The most actions of a hand."""
        return self.streets * self.longest

    @property
    def words(self) -> int:
        """Words of a hand's state."""
        return HISTORY + self.moves

    @property
    def slices(self) -> dict[str, tuple[int, int]]:
        """Where each part of an observation stands.

        One of `seat`, `hand`, `board`, `street` is set for each thing that is so; `chips` are shares of the most that
        can be put in; `history` has a group for each action of each street, in which the one that was taken is set.
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
        """Numbers of an observation."""
        return self.slices["history"][1]
