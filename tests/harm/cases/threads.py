"""Threads with environments of their own, an environment passed between threads, and the threads that are left."""
import threading
import time
from concurrent.futures import ThreadPoolExecutor
import gymnasium as gym


def train(env, seed):
    env.reset(seed=seed)
    total, steps = 0.0, 0
    while steps < 200:
        observation, reward, terminated, truncated, _ = env.step(steps % 2)
        total, steps = total + reward + float(observation[0]), steps + 1
        if terminated or truncated:
            env.reset()
    return total


def work(seed, into):
    into[seed] = train(gym.make("CartPole-v1"), seed)


results: dict[int, float] = {}
threads = [threading.Thread(target=work, args=(seed, results)) for seed in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))
shared = gym.make("CartPole-v1")
with ThreadPoolExecutor(3) as pool:
    print([pool.submit(train, shared, seed).result() for seed in range(4)], list(pool.map(train, [gym.make("CartPole-v1") for _ in range(4)], range(4))))
print(threading.current_thread() is threading.main_thread(), threading.main_thread().name, threading.Thread().name)
print([thread.name for thread in threading.enumerate() if not thread.daemon])
late = threading.Thread(target=lambda: (time.sleep(0.3), print("late", train(shared, 5))))
late.start()
