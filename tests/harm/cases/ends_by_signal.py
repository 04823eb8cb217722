"""Ends by SIGTERM, without a handler, while an environment is open."""
import os
import signal
import gymnasium as gym

env = gym.make("CartPole-v1")
env.reset(seed=0)
for _ in range(5):
    env.step(0)
print("before", signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), flush=True)
os.kill(os.getpid(), signal.SIGTERM)
