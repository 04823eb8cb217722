"""OpenAI's gym: a registered environment, a wrapper of its own, both interfaces."""
# needs: gym
import gym
import numpy as np


class Own(gym.Wrapper):
    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return (observation, reward + 0.5, *rest)


env, total = Own(gym.make("CartPole-v1")), 0.0
env.reset(seed=0)
for step in range(300):
    observation, reward, over, truncated, _ = env.step(step % 2)
    total += reward + float(observation[1])
    if over or truncated:
        env.reset()
print(total)
