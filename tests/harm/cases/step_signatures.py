"""step with other names, keyword-only, extra, default and variable arguments; and what a wrong call says."""
import inspect
import gymnasium as gym
import numpy as np


class Base(gym.Env):
    observation_space = gym.spaces.Box(-100, 100, (3,))
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        self.sum = 0.0
        return np.zeros(3, np.float32), {}

    def result(self, *values):
        self.sum += sum(values)
        return np.full(3, self.sum % 100, np.float32), float(sum(values)), False, False, {}


class Named(Base):
    def step(self, a):
        return self.result(a)


class Keyword(Base):
    def step(self, *, action, dt=0.5):
        return self.result(action, dt)


class Default(Base):
    def step(self, action=2, render=False):
        return self.result(action, render)


class Variable(Base):
    def step(self, *actions, **options):
        return self.result(*actions, *options.values())


class Duel(Base):
    def step(self, mine, theirs, /):
        return self.result(mine, -2 * theirs)


class Odd(Base):
    def reset(self, level, *, seed=None):
        self.sum = float(level)
        return np.zeros(3, np.float32)

    def step(self, action, self_play=None):
        return self.result(action)


calls = {
    Named: [((), {"a": 1}), ((2,), {}), ((), {"action": 1}), ((1, 2), {})],
    Keyword: [((), {"action": 1}), ((), {"action": 1, "dt": 2}), ((1,), {})],
    Default: [((), {}), ((1,), {}), ((), {"render": True}), ((0, True), {}), ((), {"speed": 1})],
    Variable: [((), {}), ((1, 2, 3), {"wind": 4}), ((), {"self": 1})],
    Duel: [((1, 2), {}), ((1,), {}), ((), {"mine": 1, "theirs": 2})],
    Odd: [((1,), {"self_play": 3}), ((1, 2), {})],
}
total = 0.0
for kind, some in calls.items():
    env = kind()
    env.reset(3, seed=1) if kind is Odd else env.reset(seed=1)
    for args, kwargs in some * 3:
        try:
            total += env.step(*args, **kwargs)[1]
        except TypeError as error:
            print(kind.__name__, args, kwargs, error)
    print(kind.__name__, inspect.signature(env.step), inspect.signature(kind.step), inspect.getfullargspec(kind.step), total)
