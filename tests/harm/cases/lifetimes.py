"""Weak references with callbacks, finalizers, __del__, reference counts and unreachable cycles of environments."""
import gc
import sys
import weakref
import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self, name):
        self.name = name

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 1.0, False, False, {"array": np.ones(3)}

    def close(self):
        print("closed", self.name)

    def __del__(self):
        print("deleted", self.name)


def run(name):
    env = Walk(name)
    env.reset()
    before = sys.getrefcount(env)
    env.step(0)
    print(name, before, sys.getrefcount(env))
    return env


weakref.finalize(run("first"), print, "finalized first")
second = run("second")
reference = weakref.ref(second, lambda _: print("callback of second"))
print(reference() is second)
del second
print(reference())
third = run("third")
third.me = third
del third
print("collected", gc.collect() > 0)
fourth = run("fourth")
gone = weakref.ref(fourth.step(0)[0])
print("observation", gone())
for _ in range(10):
    array = fourth.step(0)[4]["array"]
    array *= 2
wrapped = gym.wrappers.TimeLimit(run("fifth"), 5)
wrapped.reset()
wrapped.step(0)
wrapped = None
print("the end")
