"""Replaces clocks, sockets, threads, open and print by its own, as tests and simulators do, and goes on stepping."""
import builtins
import os
import random
import socket
import threading
import time
import gymnasium as gym
import numpy as np

real = {"time": time.time, "sleep": time.sleep, "perf": time.perf_counter, "mono": time.monotonic, "open": builtins.open}
asked = []


class NoSocket(socket.socket):
    def __new__(cls, *args, **kwargs):
        raise RuntimeError("no network in tests")


def steps(env, count=300):
    env.reset(seed=3)
    total = 0.0
    for step in range(count):
        observation, _, terminated, truncated, _ = env.step(step % 2)
        total += float(observation[0])
        if terminated or truncated:
            env.reset()
    return total


def refuse(*args, **kwargs):
    raise RuntimeError("not now")


socket.socket = NoSocket
time.time = lambda: 1_000_000.0
time.perf_counter = time.monotonic = lambda: 5.0
time.sleep = lambda seconds: asked.append(seconds)
builtins.open = refuse
threading.Thread.start, start = refuse, threading.Thread.start
np.random.seed, random.seed = refuse, refuse
os.getpid, getpid = lambda: 1, os.getpid
first = steps(gym.make("CartPole-v1"))
os.getpid, threading.Thread.start = getpid, start
second = steps(gym.make_vec("CartPole-v1", num_envs=1, vectorization_mode="sync").envs[0])
time.time, time.sleep, time.perf_counter, time.monotonic = real["time"], real["sleep"], real["perf"], real["mono"]
builtins.open = real["open"]
print(first, second, asked, steps(gym.make("CartPole-v1")))
