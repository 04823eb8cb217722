"""Leaves with os._exit in the middle of an episode: nothing at the exit runs, and buffered output is lost."""
# ends: abruptly
import atexit
import os
import gymnasium as gym

atexit.register(print, "never printed")
env = gym.make("CartPole-v1")
env.reset(seed=0)
for _ in range(5):
    env.step(0)
print("flushed", flush=True)
os._exit(9)
