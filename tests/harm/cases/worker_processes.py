"""Sends environments, classes and functions to processes by multiprocessing, fork, spawn and concurrent.futures."""
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-99, 99, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x += 1 if action else -1
        return np.array([self.x], np.float32), self.x, abs(self.x) > 8, False, {}


def child(env):
    env.reset(seed=1)
    return sum(env.step(step % 3 > 0)[1] for step in range(10)), sorted({name.split(".")[0] for name in sys.modules if name.startswith(("pac", "envs", "training"))})


def to_queue(env, queue):
    queue.put(child(env))


if __name__ == "__main__":
    env = Walk()
    print(child(env))
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=to_queue, args=(env, queue))
        process.start()
        print(method, queue.get(timeout=60))
        process.join()
        print(process.exitcode)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        print(list(pool.map(child, [Walk(), env])))
    pid = os.fork()
    if pid == 0:
        print("child", child(env)[0], flush=True)
        os._exit(4)
    print("fork", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), env.step(1)[1])
