"""AsyncVectorEnv with a class of the script, by fork, forkserver and spawn; step_async and step_wait."""
import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-99, 99, (1,))
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


if __name__ == "__main__":
    for context in ("fork", "forkserver", "spawn"):
        envs = gym.vector.AsyncVectorEnv([lambda start=start: Walk(start) for start in range(2)], context=context)
        envs.reset(seed=1)
        total = np.zeros(2)
        for step in range(60):
            total += envs.step(np.array([step % 2, 1]))[1]
        envs.step_async(np.array([1, 1]))
        total += envs.step_wait()[1]
        print(context, total.tolist(), envs.call("x") if hasattr(envs, "call") else "", envs.get_attr("start"))
        envs.close()
