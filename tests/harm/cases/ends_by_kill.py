"""Is killed, as by the system when memory is short."""
import os
import signal
import gymnasium as gym

env = gym.make("CartPole-v1")
env.reset(seed=0)
for _ in range(5):
    env.step(0)
print("before", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
