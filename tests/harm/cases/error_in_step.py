"""An exception inside step, through a wrapper: the traceback is the script's own."""
import gymnasium as gym
import numpy as np


class Breaks(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.t += 1
        if self.t == 7:
            raise ValueError(f"bad action {action}")
        return np.zeros(2, np.float32), 1.0, False, False, {}


env = gym.wrappers.TimeLimit(Breaks(), 20)
env.reset(seed=0)
try:
    while True:
        env.step(1)
except ValueError as error:
    frames, trace = [], error.__traceback__
    while trace:
        frames.append((trace.tb_frame.f_code.co_name, trace.tb_frame.f_code.co_filename.rpartition("/")[2], trace.tb_lineno))
        trace = trace.tb_next
    print(frames)
env.reset()
for _ in range(10):
    env.step(0)
