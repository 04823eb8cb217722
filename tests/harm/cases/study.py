"""A study: trials in one process, each with a vector environment and an evaluation; some fail, and the study goes on."""
import gymnasium as gym
import numpy as np


def trial(number):
    rng = np.random.default_rng(number)
    envs = gym.make_vec("CartPole-v1", num_envs=int(rng.integers(1, 5)), vectorization_mode="sync")
    eval_envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    envs.reset(seed=number)
    if number % 4 == 3:
        raise ValueError(f"trial {number} is pruned")
    best = 0.0
    for step in range(200):
        envs.step(rng.integers(2, size=envs.num_envs))
        if step % 100 == 99:
            eval_envs.reset(seed=0)
            best += sum(float(eval_envs.step(np.zeros(2, np.int64))[1].sum()) for _ in range(20))
    envs.close()
    return best


for number in range(8):
    try:
        print(number, trial(number), flush=True)
    except ValueError as error:
        print(error, flush=True)
