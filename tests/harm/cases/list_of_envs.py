"""Lists of single environments that the script steps itself, as Tianshou's DummyVectorEnv does."""
import gymnasium as gym
import numpy as np


class Dummy:
    def __init__(self, makers):
        self.envs = [make() for make in makers]

    def __len__(self):
        return len(self.envs)

    def reset(self, ids=None):
        return np.stack([self.envs[i].reset(seed=i)[0] for i in (range(len(self)) if ids is None else ids)])

    def step(self, actions):
        rows = [env.step(action) for env, action in zip(self.envs, actions)]
        for i, (_, _, terminated, truncated, _) in enumerate(rows):
            if terminated or truncated:
                self.envs[i].reset()
        return np.stack([row[0] for row in rows]), np.array([row[1] for row in rows])

    def close(self):
        for env in self.envs:
            env.close()


train = Dummy([lambda: gym.make("CartPole-v1") for _ in range(16)])
test = Dummy([lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))] * 3)
train.reset()
total = 0.0
for step in range(100):
    observations, rewards = train.step(np.arange(16) % 2)
    total += float(rewards.sum())
    if step % 50 == 49:
        test.reset()
        for _ in range(20):
            total += float(test.step(np.zeros(3, int))[1].sum())
train.close()
print(total, observations.sum())
