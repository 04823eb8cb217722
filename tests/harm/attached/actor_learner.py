"""An actor thread with environments; the learner in the main thread uses shared generators meanwhile."""
import queue, random, threading
import gymnasium as gym
import numpy as np

steps = queue.Queue()


def act():
    env = gym.make("CartPole-v1", render_mode="rgb_array")
    env.reset(seed=1)
    total = 0.0
    for step in range(8000):
        observation, reward, terminated, truncated, _ = env.step(step % 2)
        total += float(observation[0])
        if terminated or truncated:
            env.reset()
    steps.put(total)


random.seed(0), np.random.seed(0)
actor = threading.Thread(target=act)
actor.start()
total = 0.0
for _ in range(400_000):
    total += random.random() + np.random.rand()
print(total, steps.get())
