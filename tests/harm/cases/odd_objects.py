"""Slots, own attribute access, equality without a hash, dataclasses, generics, properties, truth values."""
from dataclasses import dataclass, field
from typing import Generic, TypeVar
import gymnasium as gym
import numpy as np

O, A = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2)
T = TypeVar("T")


class Parts:
    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.ones(2, np.float32), 1.0, False, False, {}


class Slots(Parts):
    __slots__ = ("observation_space", "action_space")

    def __init__(self):
        self.observation_space, self.action_space = O, A


class Setattr(Parts, gym.Env):
    def __init__(self):
        object.__setattr__(self, "log", [])
        self.observation_space, self.action_space = O, A

    def __setattr__(self, name, value):
        self.log.append(name)
        object.__setattr__(self, name, value)


class Getattr(Parts, gym.Env):
    observation_space, action_space = O, A
    asked = []

    def __getattr__(self, name):
        if not name.startswith("__"):
            self.asked.append(name)
        raise AttributeError(name)


class Frozen(Parts, gym.Env):
    observation_space, action_space = O, A

    def __setattr__(self, name, value):
        raise RuntimeError(f"frozen: {name}")


class Equal(Parts, gym.Env):
    observation_space, action_space = O, A

    def __eq__(self, other):
        raise RuntimeError("compared")

    __hash__ = None

    def __bool__(self):
        raise RuntimeError("asked for truth")

    def __len__(self):
        raise RuntimeError("asked for length")


@dataclass
class Data(Parts, gym.Env):
    size: int = 3
    names: list = field(default_factory=list)
    observation_space, action_space = O, A


class Box(Parts, gym.Env, Generic[T]):
    observation_space, action_space = O, A


class Property(Parts, gym.Env):
    asked = 0

    @property
    def observation_space(self):
        type(self).asked += 1
        return gym.spaces.Box(-1, 1, (2,))

    action_space = A


class Spaceless(Parts, gym.Env):
    pass


class Repr(Parts, gym.Env):
    observation_space, action_space = O, A

    def __repr__(self):
        raise RuntimeError("shown")

    __str__ = __repr__


for kind in (Slots, Setattr, Getattr, Frozen, Equal, Data, Box, Property, Spaceless, Repr):
    env = kind() if kind is not Box else Box[int]()
    env.reset(seed=1)
    total = sum(env.step(0)[1] for _ in range(30))
    own = sorted(vars(env)) if hasattr(env, "__dict__") else env.__slots__
    print(kind.__name__, type(env) is kind, total, own, sorted(set(vars(kind))), getattr(env, "log", None), kind is Data and env)
print(Getattr.asked)
