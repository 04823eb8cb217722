"""Waits until only its main thread is alive, and asks for child processes that it does not have."""
import os
import threading
import time
import gymnasium as gym

env = gym.make("CartPole-v1")
env.reset(seed=0)
threads = [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(3)]
for thread in threads:
    thread.start()
for step in range(50):
    env.step(step % 2)
begun = time.monotonic()
while threading.active_count() > 1 and time.monotonic() < begun + 2:
    time.sleep(0.01)
print(threading.active_count(), [thread.name for thread in threading.enumerate()])
try:
    print(os.wait())
except ChildProcessError as error:
    print(error)
