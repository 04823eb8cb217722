"""Games played by seeded random actions, and states read and written by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pac.envs import allocate, find
from pac.envs.autochess.bag import player
from pac.envs.autochess.creatures import LINES
from pac.envs.autochess.driver import GAME
from pac.envs.autochess.layout import ACTIONS, UNIT
from pac.envs.autochess.legal import survey
from pac.envs.autochess.teams import count_kinds

NUMBERS = {line.name: number for number, line in enumerate(LINES)}


def species(name: str, stars: int = 1) -> int:
    """The number of a line's creature."""
    return 1 + 3 * NUMBERS[name] + stars - 1


class Match:
    """Some games in buffers of their own."""

    def __init__(self, spec: str = "autochess", num_envs: int = 1, seed: int = 0, slots: int = 1) -> None:
        self.task = find(spec)
        self.num_envs = num_envs
        self.buffers: dict[str, NDArray[Any]] = allocate(self.task, num_envs, slots)
        self.games = GAME(self.task, 0, num_envs, self.buffers, seed)
        self.games.reset(np.ones(num_envs, np.bool_), 0)
        self.random = np.random.default_rng(seed)

    @property
    def state(self) -> NDArray[np.int64]:
        """The games' states, `(num_envs, WORDS)`."""
        states: NDArray[np.int64] = self.buffers["state"][0]
        return states

    def mask(self, slot: int = 0) -> NDArray[np.uint8]:
        """The published masks, `(rows, 92)`."""
        return np.unpackbits(self.buffers["action_mask"][slot], axis=-1, count=ACTIONS, bitorder="little")

    def step(self, actions: NDArray[np.int64] | list[int], slot: int = 0) -> None:
        """Step with the given actions."""
        self.buffers["action"][slot] = actions
        self.games.step(slot)

    def random_actions(self, slot: int = 0) -> NDArray[np.int64]:
        """A random legal action for each row."""
        mask = self.mask(slot)
        chosen: NDArray[np.int64] = (mask * (1 + self.random.random(mask.shape, np.float32))).argmax(axis=-1)
        return chosen

    def advance(self, steps: int) -> Match:
        """Take random steps."""
        for _ in range(steps):
            self.step(self.random_actions())
        return self


class Seat:
    """A player of one game, whose words are set and read by their offsets."""

    def __init__(self, game: NDArray[np.int64], seat: int = 0) -> None:
        self.game, self.me = game, player(seat)

    def __getitem__(self, word: int) -> int:
        return int(self.game[self.me + word])

    def __setitem__(self, word: int, value: int) -> None:
        self.game[self.me + word] = value

    def put(self, cell: int, name: str, stars: int = 1) -> None:
        """Put a creature into a cell."""
        self[UNIT + cell] = species(name, stars)

    def refresh(self) -> None:
        """Count the kinds and write the mask anew."""
        count_kinds(self.game, self.me)
        survey(self.game, self.me)
