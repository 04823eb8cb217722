"""Is interrupted inside step by its own alarm, saves, and goes on."""
import signal
import gymnasium as gym
import numpy as np


class Slow(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.t += 1
        if self.t == 30:
            signal.raise_signal(signal.SIGINT)
        return np.full(2, self.t, np.float32), 1.0, False, False, {}


env = Slow()
env.reset()
try:
    while True:
        env.step(0)
except KeyboardInterrupt:
    env.close()
    print("interrupted at", env.t)
open("saved", "w").write(str(env.t))
env.reset()
for _ in range(10):
    env.step(1)
print("went on", env.t)
raise KeyboardInterrupt
