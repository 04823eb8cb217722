"""Classes whose __init_subclass__ demands, forbids or registers; a metaclass that counts; __subclasses__."""
import abc
import gymnasium as gym
import numpy as np


class Base(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.ones(2, np.float32), 1.0, False, False, {}


class Titled(Base):
    names = {}

    def __init_subclass__(cls, *, title, **more):
        super().__init_subclass__(**more)
        cls.names[title] = cls


class Maze(Titled, title="maze"):
    pass


class Final(Base):
    def __init_subclass__(cls, **more):
        raise TypeError("Final is not to be subclassed")


class Counting(abc.ABCMeta):
    made = []

    def __new__(mcs, name, bases, body, **more):
        mcs.made.append(name)
        return super().__new__(mcs, name, bases, body, **more)

    def __setattr__(cls, name, value):
        print("set", cls.__name__, name)
        super().__setattr__(name, value)


class Counted(Base, metaclass=Counting):
    def step(self, action):
        return super().step(action)


for kind in (Maze, Final, Counted):
    env = kind()
    env.reset(seed=1)
    total = sum(env.step(0)[1] for _ in range(20))
    print(kind.__name__, type(env) is kind, type(env).__mro__, kind.__subclasses__(), total)
print(Titled.names, Counting.made, [each.__name__ for each in Base.__subclasses__()], sorted(vars(Maze)))
