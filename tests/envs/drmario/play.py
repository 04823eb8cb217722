"""Environments played by seeded random actions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pac.envs import allocate, find
from pac.envs.drmario.driver import GAME
from pac.envs.drmario.layout import LONGEST_FALL, SCRATCH, Bytes, Words
from pac.envs.drmario.plan import plan

from .bottles import State


class Game:
    """Some environments in buffers of their own."""

    def __init__(self, spec: str, num_envs: int = 1, seed: int = 0, slots: int = 1) -> None:
        self.task = find(spec)
        self.num_envs = num_envs
        self.buffers: dict[str, NDArray[Any]] = allocate(self.task, num_envs, slots)
        self.envs = GAME(self.task, 0, num_envs, self.buffers, seed)
        self.envs.reset(np.ones(num_envs, np.bool_), 0)

    def state(self, env: int = 0) -> State:
        """An environment's state."""
        return State(self.buffers["state"][0, env])

    def mask(self, slot: int = 0) -> NDArray[np.uint8]:
        """The published masks, `(num_envs, 512)`."""
        return np.unpackbits(self.buffers["action_mask"][slot], axis=-1, bitorder="little")

    def step(self, actions: NDArray[np.int64] | list[int], slot: int = 0) -> None:
        """Step with the given actions."""
        self.buffers["action"][slot] = actions
        self.envs.step(slot)


def legal(mask: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.int64]:
    """A random legal action for each row of a mask."""
    chosen: NDArray[np.int64] = (mask * random.random(mask.shape)).argmax(axis=-1)
    return chosen


def buttons(state: Words, action: int) -> Bytes:
    """The buttons held on every frame, as bits of `layout`, from control until the frame on which the pill locks."""
    path = np.zeros(LONGEST_FALL, np.uint8)
    frames = plan(state, state.view(np.int64), action, np.zeros(SCRATCH, np.uint64), path)
    return path[:frames]
