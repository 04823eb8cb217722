"""A2C of Stable-Baselines3 with VecNormalize around VecFrameStack, and an evaluation callback."""

import gymnasium as gym
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

envs = VecNormalize(VecFrameStack(make_vec_env("CartPole-v1", n_envs=4, seed=1), 2))
eval_env = VecNormalize(VecFrameStack(DummyVecEnv([lambda: gym.make("CartPole-v1")]), 2), training=False)
model = A2C("MlpPolicy", envs, seed=1, device="cpu", verbose=1)
model.learn(4_000, callback=EvalCallback(eval_env, eval_freq=400, n_eval_episodes=2, verbose=0), log_interval=20)
print("weights", sum(part.double().sum().item() for part in model.policy.parameters()))
envs.close()
