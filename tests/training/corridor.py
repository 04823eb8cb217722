"""A tiny task with action masks: walk along a corridor of six cells by choosing a neighboring cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pac.envs import Environments, Field, Outcome, Task, next_slot
from pac.envs.fields import Array, Buffers

# On busy cores, PyTorch's threads mostly wait for each other.
torch.set_num_threads(1)

CELLS = 6
LIMIT = 12


class Walkers:
    """Environments `lo..hi`: start at the left end; reaching the right end within 12 steps has reward 1."""

    def __init__(self, task: Corridor, lo: int, hi: int, buffers: Buffers) -> None:
        self.players, self.buffers, self.task = task.players, buffers, task
        self.envs = slice(lo, hi)
        self.seats = slice(lo * task.players, hi * task.players)
        self.cell = np.zeros((hi - lo) * task.players, np.int64)
        self.length = np.zeros(hi - lo, np.int32)

    def reset(self, mask: Array, slot: int) -> None:
        self.length[mask] = 0
        self.cell[np.repeat(mask, self.players)] = 0
        self.buffers["episode"][0, self.envs][mask] += 1
        self.buffers["episode_return"][slot, self.seats] = 0
        self.buffers["active"][slot, self.seats] = 1
        self._show("observation", slot)
        self._allow(slot)

    def step(self, slot: int) -> None:
        buffers, after = self.buffers, next_slot(slot, len(self.buffers["action"]))
        self.cell = buffers["action"][slot, self.seats].copy()
        self.length += 1
        arrived = self.cell == CELLS - 1
        ended = arrived.reshape(-1, self.players).any(axis=1)
        late = ~ended & (self.length >= LIMIT)
        steps = np.repeat(self.length, self.players)
        write = {
            "reward": arrived - self.task.toll,
            "terminated": np.repeat(ended, self.players),
            "truncated": np.repeat(late | ended if self.task.both else late, self.players),
        }
        for name, value in {**write, "active": 1, "episode_return": arrived - self.task.toll * steps}.items():
            buffers[name][after, self.seats] = value
        for name, value in {"frames": 2, "episode_length": self.length, "outcome": ended + 2 * late}.items():
            buffers[name][after, self.envs] = value
        self._show("final_observation", after)
        over = ended | late
        if over.any():
            returns = buffers["episode_return"][after, self.seats].copy()
            self.reset(over, after)
            buffers["episode_return"][after, self.seats] = returns
        self._show("observation", after)
        self._allow(after)

    def close(self) -> None:
        """Do nothing."""

    def _show(self, name: str, slot: int) -> None:
        here = np.arange(CELLS) == self.cell[:, None]
        goal = np.broadcast_to(np.arange(CELLS) == CELLS - 1, here.shape)
        planes = np.concatenate([here, goal], axis=1)
        self.buffers[name][slot, self.seats] = np.packbits(planes, axis=1, bitorder="little")

    def _allow(self, slot: int) -> None:
        near = np.abs(np.arange(CELLS) - self.cell[:, None]) == 1
        self.buffers["action_mask"][slot, self.seats] = np.packbits(near, axis=1, bitorder="little")


@dataclass(frozen=True, kw_only=True)
class Corridor(Task):
    """The task; its environments are built here. With `both`, whoever arrives is also late; a step costs the `toll`."""

    both: bool = False
    toll: float = 0.0

    def make(self, lo: int, hi: int, buffers: Buffers, seed: int) -> Environments:
        del seed
        return Walkers(self, lo, hi, buffers)


def corridor(players: int = 1, *, both: bool = False, toll: float = 0.0, **settings: Any) -> Corridor:
    """Return the task with suitable PPO settings."""
    quick = {"batch": 128, "minibatch": 32, "learning_rate": 3e-3, "channels": 8, "hidden": 16, "threads": 1}
    return Corridor(
        spec="corridor",
        name="corridor",
        title="Corridor",
        factory="",
        observation=Field("observation", "uint8", (2, 1, CELLS), encoding="bits", per="seat", low=0, high=1),
        num_actions=CELLS,
        action_shape=(1, 1, CELLS),
        masked=True,
        players=players,
        both=both,
        toll=toll,
        outcomes=(Outcome("arrived", "good"), Outcome("late", "neutral")),
        settings={"ppo": quick | settings},
    )
