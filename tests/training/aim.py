"""A tiny task with one step per episode: hit the shown target. Actions are continuous or several choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pac.envs import Environments, Field, Outcome, Task, next_slot
from pac.envs.fields import DECIDES, Array, Buffers

CHOICES = (3, 2)


class Archers:
    """Environments `lo..hi`; the reward is highest if the action equals the observation."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self.task, self.buffers, self.envs = task, buffers, slice(lo, hi)
        self.random = np.random.default_rng((seed, lo))
        self.shown = np.zeros((hi - lo, 2), np.float32)

    def reset(self, mask: Array, slot: int) -> None:
        self.buffers["episode"][0, self.envs] += mask
        self.buffers["active"][slot, self.envs] = DECIDES
        self._aim(slot)

    def step(self, slot: int) -> None:
        buffers, after = self.buffers, next_slot(slot, len(self.buffers["action"]))
        action = buffers["action"][slot, self.envs]
        if self.task.bounds:
            low, high = np.array(self.task.bounds).T
            assert (action >= low - 1e-6).all()
            assert (action <= high + 1e-6).all()
            reward = -np.square(action / high - self.shown).sum(axis=1)
        else:
            reward = (action == self.shown).mean(axis=1)
        for name, value in {"reward": reward, "episode_return": reward, "terminated": 1, "outcome": 1}.items():
            buffers[name][after, self.envs] = value
        for name in ("active", "frames", "episode_length"):
            buffers[name][after, self.envs] = 1
        buffers["final_observation"][after, self.envs] = self.shown
        buffers["episode"][0, self.envs] += 1
        self._aim(after)

    def close(self) -> None:
        """Do nothing."""

    def _aim(self, slot: int) -> None:
        if self.task.bounds:
            self.shown[:] = self.random.uniform(-0.8, 0.8, self.shown.shape)
        else:
            self.shown[:] = self.random.integers(CHOICES, size=self.shown.shape)
        self.buffers["observation"][slot, self.envs] = self.shown


@dataclass(frozen=True, kw_only=True)
class Aim(Task):
    """The task; its environments are built here."""

    def make(self, lo: int, hi: int, buffers: Buffers, seed: int) -> Environments:
        return Archers(self, lo, hi, buffers, seed)


def aim(*, continuous: bool, **settings: Any) -> Aim:
    """Return the task with two numbers, from -1 to 1 and from -20 to 20, or with two choices."""
    quick = {"batch": 256, "minibatch": 64, "learning_rate": 3e-3, "hidden": 32, "entropy_coefficient": 0.0}
    kind: dict[str, Any] = {"num_actions": sum(CHOICES), "choices": CHOICES}
    if continuous:
        kind = {"num_actions": 2, "bounds": ((-1.0, 1.0), (-20.0, 20.0))}
    return Aim(
        spec="aim",
        name="aim",
        title="Aim",
        factory="",
        observation=Field("observation", "float32", (2,), per="seat", low=-1, high=2),
        outcomes=(Outcome("done", "neutral"),),
        settings={"ppo": {**quick, "threads": 1, **settings}},
        **kind,
    )
