"""Stable-Baselines3: PPO for two updates with a Monitor, an evaluation and a CSV log; weights and files."""
# needs: stable_baselines3
import hashlib
import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

torch.set_num_threads(1)
envs = VecNormalize(DummyVecEnv([lambda: gym.make("CartPole-v1")] * 4))
evaluation = VecNormalize(DummyVecEnv([lambda: gym.make("CartPole-v1")]), training=False)
model = PPO("MlpPolicy", envs, n_steps=64, device="cpu", seed=1, n_epochs=2)
model.learn(512, callback=EvalCallback(evaluation, eval_freq=64, n_eval_episodes=2, verbose=0))
print(hashlib.sha256(b"".join(each.detach().numpy().tobytes() for each in model.policy.parameters())).hexdigest())
model.env.close()
model.policy.save("policy.pt")
print(envs.obs_rms.mean.tolist(), model.num_timesteps)
