"""Observations, rewards and infos of all kinds: dtypes that change, lists, named tuples, None, scalars, text, huge integers."""
from typing import NamedTuple
import gymnasium as gym
import numpy as np


class Seen(NamedTuple):
    position: float
    speed: float


VALUES = [
    lambda t: np.full(2, t, np.float64 if t % 3 else np.float32),
    lambda t: [float(t), 1],
    lambda t: Seen(t, 2.0),
    lambda t: None,
    lambda t: t,
    lambda t: f"text {t}",
    lambda t: np.float32(t),
    lambda t: np.array(t),
    lambda t: np.zeros((t % 4, 2)),
    lambda t: {"a": t, "b": {"c": np.ones(t % 3)}},
    lambda t: (t, "x", None),
    lambda t: 2**90 + t,
    lambda t: np.array([object()]),
    lambda t: np.array(["a", "b"]),
    lambda t: range(t),
]
INFOS = [None, {}, {"x": 1}, {7: 1, "": None}, [1], {"nan": float("nan"), "big": 2**80, "nested": {"a": {"b": 1}}}, "info"]
REWARDS = [1, 1.5, np.float32(2), np.array(3.0), np.array([1.0, 2.0]), True, None, float("nan"), "4"]


class Odd(gym.Env):
    action_space = gym.spaces.Discrete(2)

    def __init__(self, value, short):
        self.value, self.short = value, short

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return self.value(0) if self.short else (self.value(0), INFOS[0])

    def step(self, action):
        self.t += 1
        rest = (self.t % 5 == 0, INFOS[self.t % len(INFOS)])
        return (self.value(self.t), REWARDS[self.t % len(REWARDS)], *(rest if self.short else (rest[0], np.bool_(self.t % 9 == 0), rest[1])))


for number, value in enumerate(VALUES):
    for short in (False, True):
        env = Odd(value, short)
        if number % 2:
            env.observation_space = gym.spaces.Box(-1, 1, (2,))
        env.reset()
        seen = [env.step(action) for action in (0, 1, None, 5, "go", np.array(1), [0], 2**70) for _ in range(4)]
        print(number, short, len(seen), len(seen[0]), str(seen[3])[:60] if number != 12 else "")
