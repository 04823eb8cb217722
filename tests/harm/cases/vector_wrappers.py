"""Vector environments in wrappers, made in several ways, with seeds, options, autoreset modes and attributes."""
import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

for mode in AutoresetMode:
    envs = gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode})
    envs = wrappers.RecordEpisodeStatistics(wrappers.TransformReward(envs, lambda r: r * 0.5))
    if mode is not AutoresetMode.SAME_STEP:
        envs = wrappers.NormalizeObservation(envs)
    envs.action_space.seed(1)
    observations, infos = envs.reset(seed=[3, 4, 5])
    total, over, ends = 0.0, np.zeros(3, bool), 0
    for _ in range(150):
        if mode is AutoresetMode.DISABLED and over.any():
            observations, infos = envs.reset(options={"reset_mask": over})
        observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        over = terminated | truncated
        total, ends = total + float(rewards.sum()), ends + int(over.sum())
    print(mode.name, total, ends, observations.round(5).tolist(), sorted(infos), envs.unwrapped.num_envs, type(envs).__name__)
    envs.close()
fast = gym.make_vec("CartPole-v1", num_envs=2)
fast.reset(seed=0)
print(type(fast).__name__, sum(float(fast.step(np.array([0, 1]))[1].sum()) for _ in range(100)))
