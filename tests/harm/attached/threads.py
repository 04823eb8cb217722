"""Threads that step environments of their own, also after one of them was paused."""
import threading

import gymnasium as gym


def train(seed, into):
    env = gym.make("CartPole-v1")
    env.reset(seed=seed)
    total = 0.0
    for step in range(6000):
        observation, reward, terminated, truncated, _ = env.step((step + seed) % 2)
        total += reward + float(observation[0])
        if terminated or truncated:
            env.reset()
    into[seed] = total


results: dict[int, float] = {}
threads = [threading.Thread(target=train, args=(seed, results)) for seed in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))
