"""Pickles and copies of types and instances: pickle, copy, cloudpickle, an own __deepcopy__, __reduce__ and __getstate__."""
import copy
import pickle
import cloudpickle
import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-9, 9, (1,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self, start=0):
        self.start = start

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = float(self.start)
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x += 1 if action else -1
        return np.array([self.x], np.float32), self.x, abs(self.x) > 8, False, {}


class Own(Walk):
    def __deepcopy__(self, memo):
        new = self.__class__.__new__(self.__class__)
        new.__dict__.update(self.__dict__)
        return new


class State(Walk):
    def __getstate__(self):
        print("state of", sorted(self.__dict__))
        return self.__dict__.copy()


class Reduced(Walk):
    def __reduce__(self):
        return Reduced, (self.start,), self.__dict__.copy()


for kind in (Walk, Own, State, Reduced):
    env = kind(2)
    env.reset(seed=1)
    env.step(1)
    for how in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each)), lambda each: cloudpickle.loads(cloudpickle.dumps(each))):
        other = how(env)
        print(kind.__name__, type(other) is kind, other.step(1)[1], other.step(1)[1], env.x, sorted(vars(other)))
    print(pickle.loads(pickle.dumps(kind)) is kind, len(pickle.dumps(env)), pickle.dumps(kind.step), len(cloudpickle.dumps(kind)) > 500)
    print(env.step(0)[1], pickle.dumps(env.step)[:40], copy.copy(env.step)(1)[1])
cart = gym.make("CartPole-v1")
cart.reset(seed=1)
cart.step(0)
twin = copy.deepcopy(cart)
print(all((cart.step(a)[0] == twin.step(a)[0]).all() for a in (0, 1, 1, 0)))
