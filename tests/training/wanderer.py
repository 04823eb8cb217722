"""An environment with a random generator of its own, which follows no seed; it offers its state."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Wanderer(gymnasium.Env):
    """Is blown about; an episode ends at the edge."""

    observation_space = Box(-np.inf, np.inf, (3,), np.float32)
    action_space: gymnasium.Space[Any] = Discrete(2)

    def __init__(self, edge=3.0, wind=None):
        self._edge = edge
        self._wind = np.random.default_rng(wind)
        self._place, self._visits = np.zeros(2), {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self._place, self._visits = self._wind.normal(size=2), {}
        return self._seen(), self._reported()

    def step(self, action):
        self._place = self._place + self._wind.normal(size=2) + (2 * action - 1) * self.np_random.normal()
        where = tuple(np.rint(self._place).astype(int).tolist())
        self._visits[where] = self._visits.get(where, 0) + 1
        over = bool(np.abs(self._place).max() > self._edge)
        return self._seen(), float(self._wind.random()), over, False, self._reported()

    def get_state(self):
        return {"place": self._place, "visits": self._visits, "wind": self._wind.bit_generator.state}

    def set_state(self, state):
        self._place, self._visits = state["place"], state["visits"]
        self._wind.bit_generator.state = state["wind"]

    def _reported(self):
        return {"north": self._place[0], "visited": len(self._visits)}

    def _seen(self):
        return np.array([*self._place, len(self._visits)], np.float32)


class Sailor(Wanderer):
    """Steers by a number."""

    action_space = Box(-1, 3, (1,), np.float32)


WANDERER, SAILOR = f"{__name__}:Wanderer", f"{__name__}:Sailor"
"""The tasks."""
