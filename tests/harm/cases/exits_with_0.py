"""Steps, closes and exits with code 0."""
import sys
import gymnasium as gym

env = gym.make("CartPole-v1")
env.reset(seed=0)
for _ in range(5):
    env.step(0)
env.close()
print("leaving")
sys.exit(0)
