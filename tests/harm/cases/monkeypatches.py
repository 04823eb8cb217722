"""step and reset replaced on the class, on the instance, before and after the first step, and restored."""
import functools
import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-999, 999, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.x = 0.0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x += 1
        return np.array([self.x], np.float32), self.x, self.x > 8, False, {}

    @staticmethod
    def scale(value):
        return 2 * value

    half = functools.partialmethod(step, 0)


class Static(Walk):
    count = 0

    @staticmethod
    def step(action):
        Static.count += 1
        return np.zeros(1, np.float32), 1.0, False, False, {}

    @classmethod
    def reset(cls, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}


class Assigned(Walk):
    def __init__(self):
        self.step = self.other

    def other(self, action):
        self.x += 100
        return np.array([self.x], np.float32), self.x, False, False, {}


class Partial(Walk):
    def move(self, by, action):
        self.x += by
        return np.array([self.x], np.float32), self.x, False, False, {}

    step = functools.partialmethod(move, 5)


def run(env, count=10):
    env.reset(seed=0)
    return sum(env.step(1)[1] for _ in range(count))


env = Walk()
print(run(env), env.half()[1], env.scale(2))
original = Walk.step
Walk.step = lambda self, action: (np.zeros(1, np.float32), 7.0, False, False, {})
print(run(env), run(Walk()), Walk.step is original, Walk.step.__name__)
Walk.step = original
print(run(env), Walk.step is original, "step" in vars(Walk))
env.step = functools.partial(original, env)
print(run(env), sorted(vars(env)))
del env.step
print(run(env), sorted(vars(env)))
print(run(Static()), Static.count, run(Assigned()), run(Partial()))
before = Walk.reset
Walk.reset = functools.wraps(before)(lambda self, **more: before(self, **more))
print(run(env), Walk.reset.__wrapped__ is before)
class Late(Walk):
    pass
Late.step = lambda self, action: (np.zeros(1, np.float32), 3.0, True, False, {})
print(run(Late()))
del Walk.step
try:
    run(env)
except Exception as error:
    print(type(error).__name__, error)
