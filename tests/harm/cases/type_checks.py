"""Asks for types everywhere: type() is, isinstance, singledispatch, match, registries by class, class attributes."""
import functools
import gymnasium as gym
import numpy as np


class Maze(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)
    __match_args__ = ("size",)
    count = 0

    def __init__(self, size=3):
        self.size = size
        type(self).count += 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert self.__class__ is Maze and type(self) == Maze
        return np.zeros(1, np.float32), float(self.size), False, False, {"class": type(self).__name__}


@functools.singledispatch
def name(env):
    return "other"


@name.register
def _(env: Maze):
    return "maze"


settings = {Maze: {"lr": 0.5}}
for env in (Maze(), Maze(4), gym.wrappers.TimeLimit(Maze(5), 9)):
    env.reset(seed=1)
    env.step(1)
    match env:
        case Maze(size):
            found = size
        case gym.Wrapper():
            found = "wrapper"
    print(found, name(env), settings.get(type(env)), type(env).__name__, type(env).__qualname__, type(env).__module__, repr(env).split(" at ")[0], env.step(0)[4])
print(Maze.count, Maze.__dict__.keys() - {"__doc__"}, Maze.__bases__, Maze.__subclasses__(), gym.Wrapper in gym.Env.__subclasses__(), issubclass(Maze, gym.Env))
print(gym.spec("CartPole-v1").entry_point, type(gym.make("CartPole-v1").unwrapped).__mro__[:2], str(gym.make("CartPole-v1")))
