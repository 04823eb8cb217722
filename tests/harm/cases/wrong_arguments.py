"""Constructors that are called wrongly, abstract classes, and missing methods say what Python says."""
import abc
import gymnasium as gym
import numpy as np


class None_(gym.Env):
    def __init__(self):
        self.x = 0


class Two(gym.Env):
    def __init__(self, a, *, b):
        self.a, self.b = a, b


class Abstract(gym.Env, abc.ABC):
    @abc.abstractmethod
    def goal(self):
        pass


class New(gym.Env):
    def __new__(cls, size):
        return super().__new__(cls)

    def __init__(self, size):
        self.size = size


for make in (lambda: None_(3), lambda: None_(x=3), lambda: Two(), lambda: Two(1), lambda: Two(1, 2), lambda: Abstract(), lambda: New(), lambda: New(4).size):
    try:
        print("made", make())
    except TypeError as error:
        print(type(error).__name__, error)
for call in (lambda env: env.step(), lambda env: env.step(1, 2), lambda env: env.reset(3), lambda env: env.step(0), lambda env: env.jump()):
    try:
        print(call(None_()))
    except Exception as error:
        print(type(error).__name__, error)
cart = gym.make("CartPole-v1")
for call in (lambda: cart.step(0), lambda: cart.reset(3), lambda: cart.reset(seed="x"), lambda: cart.step(7), lambda: gym.make("Nothing-v3"), lambda: cart.jump):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
