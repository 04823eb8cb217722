"""The states of all generators at the end: random, NumPy, the environment's, the spaces', PyTorch's, hash and ids."""
# needs: torch
import random
import gymnasium as gym
import numpy as np
import torch

random.seed(5)
np.random.seed(5)
torch.manual_seed(5)
torch.set_num_threads(1)
env = gym.make("CartPole-v1", render_mode="rgb_array")
env.action_space.seed(5)
env.observation_space.seed(5)
env.reset(seed=5)
policy = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 2))
observation = env.reset()[0]
for step in range(1500):
    action = torch.distributions.Categorical(logits=policy(torch.as_tensor(observation)[None])).sample().item()
    observation, _, terminated, truncated, _ = env.step(action)
    if terminated or truncated:
        observation, _ = env.reset()
print(observation.tolist(), random.random(), np.random.rand(), torch.rand(1).item(), env.action_space.sample(), env.observation_space.sample().tolist())
print(env.unwrapped.np_random.bit_generator.state, env.np_random.random(), np.random.default_rng(3).random())
print(hash("text"), hash((1, 2.5)), np.get_printoptions()["precision"], np.geterr(), torch.get_default_dtype(), torch.initial_seed())
