"""Closes all descriptors but the first three, as daemons do, and opens files of its own, while it goes on stepping."""
import hashlib
import os
import time
import gymnasium as gym

env = gym.make("CartPole-v1")
env.action_space.seed(0)
env.reset(seed=0)


def steps(count):
    total = 0.0
    for _ in range(count):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        total += float(observation[0])
        if terminated or truncated:
            env.reset()
    return total


print(steps(100))
os.closerange(3, 256)
files = [open(f"file{number}", "w+b") for number in range(30)]
for number, file in enumerate(files):
    file.write(bytes([number]) * 1000)
    file.flush()
for _ in range(6):
    print(steps(100))
    time.sleep(0.2)
read = b""
for file in files:
    file.seek(0)
    read += file.read()
    file.close()
print(len(read), hashlib.sha256(read).hexdigest()[:16])
print(steps(100))
