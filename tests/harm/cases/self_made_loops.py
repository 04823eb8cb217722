"""Environments that close themselves, reset inside step, step inside reset, and episodes that ignore the flags."""
import gymnasium as gym
import numpy as np


class Base(gym.Env):
    observation_space = gym.spaces.Box(0, 100, (1,))
    action_space = gym.spaces.Discrete(2)
    closed = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.array([self.t], np.float32), {}

    def step(self, action):
        self.t += 1
        return np.array([self.t], np.float32), 1.0, self.t >= 10, False, {}

    def close(self):
        self.closed += 1


class ClosesItself(Base):
    def step(self, action):
        result = super().step(action)
        if result[2]:
            self.close()
        return result


class ResetsItself(Base):
    def step(self, action):
        result = super().step(action)
        return (self.reset()[0], *result[1:]) if result[2] else result


class WarmsUp(Base):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        for _ in range(3):
            self.step(0)
        return np.array([self.t], np.float32), {"warm": 3}


class Recursive(Base):
    def step(self, action):
        return self.step(action - 1) if action > 0 else super().step(action)


for kind in (ClosesItself, ResetsItself, WarmsUp, Recursive):
    env = kind()
    env.reset(seed=0)
    total = 0.0
    for step in range(500):
        observation, reward, over, _, _ = env.step(step % 4)
        total += reward + float(observation[0])
        if over and kind is not ResetsItself:
            env.reset()
    print(kind.__name__, total, env.closed)
ignoring = gym.make("CartPole-v1")
ignoring.reset(seed=1)
print(sum(ignoring.step(0)[1] for _ in range(30)))
