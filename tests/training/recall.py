"""A tiny task that needs a memory: the first observation says which of two actions is right some steps later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pac.envs import Environments, Field, Task, episode_seed, next_slot
from pac.envs.fields import Array, Buffers


class Recallers:
    """Environments `lo..hi`: the cue is seen at the first step only, and the last action is rewarded if it is that."""

    def __init__(self, task: Recall, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self.task, self.buffers, self.envs, self.seed = task, buffers, slice(lo, hi), seed
        self.cue, self.length = np.zeros(hi - lo, np.int64), np.zeros(hi - lo, np.int32)

    def reset(self, mask: Array, slot: int) -> None:
        self.length[mask] = 0
        self.buffers["episode"][0, self.envs][mask] += 1
        for env in np.flatnonzero(mask):
            number = int(self.buffers["episode"][0, self.envs][env])
            self.cue[env] = episode_seed(self.seed, self.envs.start + int(env), number) % 2
        self.buffers["active"][slot, self.envs] = 1
        self.buffers["observation"][slot, self.envs] = self.seen()

    def seen(self) -> Array:
        first = self.length == 0
        last = self.length == self.task.delay
        return np.stack([first & (self.cue == 0), first & (self.cue == 1), last], axis=1).astype(np.float32)

    def step(self, slot: int) -> None:
        buffers, envs, after = self.buffers, self.envs, next_slot(slot, len(self.buffers["action"]))
        over = self.length == self.task.delay
        reward = (over & (buffers["action"][slot, envs] == self.cue)).astype(np.float32)
        self.length += 1
        write = {"reward": reward, "terminated": over, "truncated": 0, "active": 1, "episode_return": reward}
        for name, value in {**write, "frames": 1, "episode_length": self.length, "outcome": 0}.items():
            buffers[name][after, envs] = value
        buffers["final_observation"][after, envs] = self.seen()
        if over.any():
            self.reset(over, after)
        buffers["observation"][after, envs] = self.seen()

    def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class Recall(Task):
    """The task; its environments are built here."""

    delay: int = 6

    def make(self, lo: int, hi: int, buffers: Buffers, seed: int) -> Environments:
        return Recallers(self, lo, hi, buffers, seed)


def recall(delay: int = 6, **settings: Any) -> Recall:
    """Return the task; `delay` steps are between the cue and the action."""
    quick = {"batch": 512, "minibatch": 128, "learning_rate": 1e-3, "hidden": 16, "threads": 1, "sequence": 8}
    return Recall(
        spec="recall",
        name="recall",
        title="Recall",
        factory="",
        observation=Field("observation", "float32", (3,), per="seat", low=0, high=1),
        num_actions=2,
        delay=delay,
        settings={"ppo": {**quick, "gamma": 0.99, **settings}},
    )
