"""Exits with a text, which goes to stderr, after functions at the exit have printed."""
import atexit
import sys
import gymnasium as gym

atexit.register(print, "at the exit")
env = gym.make("CartPole-v1")
atexit.register(env.close)
env.reset(seed=0)
for _ in range(5):
    env.step(0)
sys.exit("no more data")
