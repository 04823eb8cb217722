"""Chains of super().step, mixins, an own wrapper without a base, wrappers around wrappers, delegation by __getattr__."""
import gymnasium as gym
import numpy as np

calls = []


class Base(gym.Env):
    observation_space = gym.spaces.Box(-999, 999, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        calls.append("Base.reset")
        self.x = 0.0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        calls.append("Base.step")
        self.x += 1
        return np.array([self.x], np.float32), self.x, self.x >= 5, False, {}


class Bonus:
    def step(self, action):
        calls.append("Bonus.step")
        observation, reward, *rest = super().step(action)
        return (observation, reward + 10, *rest)


class Middle(Base):
    def step(self, action):
        calls.append("Middle.step")
        return super().step(action)


class Leaf(Bonus, Middle):
    def step(self, action):
        calls.append("Leaf.step")
        super().step(action)
        return super().step(action)


class Holder:
    def __init__(self, env):
        self.env = env

    def __getattr__(self, name):
        return getattr(self.env, name)

    def step(self, action):
        return self.env.step(1 - action)


class Negative(gym.RewardWrapper):
    def reward(self, reward):
        return -reward


def run(env):
    env.reset(seed=0)
    results = [env.step(1)[1:3] for _ in range(4)]
    print(type(env).__name__, results, calls)
    calls.clear()


run(Leaf())
run(Holder(Leaf()))
run(Holder(Holder(Middle())))
run(Negative(gym.wrappers.TimeLimit(Negative(Bonus and Leaf()), 9)))
env = Negative(Leaf())
print(env.unwrapped.step(0)[1] if not env.reset()[1] else None, env.step(0)[1], env.unwrapped is env.env, env.get_wrapper_attr("x"))
leaf = Leaf()
leaf.reset()
print(Base.step(leaf, 0)[1], Middle.step(leaf, 0)[1], leaf.step(0)[1], calls)
