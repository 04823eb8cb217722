"""Counts calls with sys.settrace and sys.setprofile, and profiles with cProfile."""
import cProfile
import io
import pstats
import sys
import threading
import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-9, 9, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.x = 0.0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x += 1
        return np.array([self.x], np.float32), self.x, self.x > 8, False, {}


env = Walk()
env.reset(seed=0)
env.step(0)
lines = []


def trace(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        lines.append((frame.f_code.co_name, event, frame.f_lineno))
        return trace
    return None


sys.settrace(trace)
for _ in range(4):
    env.step(1)
sys.settrace(None)
print(lines, sys.gettrace(), sys.getprofile(), threading._profile_hook, threading._trace_hook)
profile = cProfile.Profile()
profile.enable()
for _ in range(50):
    env.step(1)
    env.reset()
profile.disable()
stats = pstats.Stats(profile, stream=io.StringIO()).stats
print(sorted((name, count[0]) for (file, _, name), count in stats.items() if file == __file__))
