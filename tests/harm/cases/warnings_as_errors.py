"""All warnings are errors."""
# environment: PYTHONWARNINGS=error
import gymnasium as gym
import numpy as np

envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
envs.reset(seed=0)
total = np.zeros(2)
for step in range(200):
    total += envs.step(np.array([step % 2, 0]))[1]
envs.close()
print(total.tolist())
