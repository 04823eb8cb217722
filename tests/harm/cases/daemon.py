"""Forks, and the parent leaves while the child trains; the child's output is complete."""
import os
import sys
import time
import gymnasium as gym

env = gym.make("CartPole-v1")
env.reset(seed=0)
env.step(0)
print("before", flush=True)
reading, writing = os.pipe()
pid = os.fork()
if pid:
    os.close(writing)
    with os.fdopen(reading) as pipe:
        print("child says", pipe.read().strip(), os.waitpid(pid, 0)[1])
    sys.exit(6)
total = 0.0
for step in range(300):
    observation, _, terminated, truncated, _ = env.step(step % 2)
    total += float(observation[2])
    if terminated or truncated:
        env.reset()
other = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
other.reset(seed=0)
os.write(writing, f"{total} {other.step([0, 1])[1].tolist()}".encode())
