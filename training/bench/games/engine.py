"""Measures the built-in games with random legal actions in one thread."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median
from time import thread_time

import numpy as np

from ....envs.fields import DECIDES, Array
from ....envs.native import below, compiler
from ....envs.registry import find
from ....envs.task import allocate
from ..facts import Progress, Results, summary_of
from ..turns import alternate, rate_of

RUNS = 5
ENVIRONMENTS = 64
SLOTS = 16

compiled = compiler(Path(__file__).parent)


@compiled
def choose(masks: Array, count: int, actions: Array, random: Array) -> None:
    """Write a legal action of each row: the first one from a random one on, or any if it has no legal one.

    Args:
        masks: The legal ones of `count` actions as bits, `(rows, bytes)`; no bytes if all are legal.
        count: Number of actions.
        actions: `(rows,)`.
        random: The state of the random generator, `(1,)`.
    """
    for row in range(len(actions)):
        first = below(random, 0, count)
        actions[row] = first
        for offset in range(count if masks.shape[1] else 0):
            action = (first + offset) % count
            if masks[row, action >> 3] >> (action & 7) & 1:
                actions[row] = action
                break


@compiled
def count_of(values: Array, value: int) -> int:
    """Return how many of `(n,)` numbers have a value."""
    found = 0
    for each in values:
        found += each == value
    return found


def play_rate(spec: str, seconds: float, *, episodes: bool = False) -> float:
    """Return decisions per second of one thread with random legal actions, with observations written into a rollout.

    It is the median of `RUNS` runs, in CPU time of the thread, so other programs have little effect. A seat that waits
    for others or has lost makes no decision.

    Args:
        spec: The task and its parameters.
        seconds: CPU time of the measurement, without compilation.
        episodes: Whether to count episodes instead.
    """
    task = find(spec)
    buffers = allocate(task, ENVIRONMENTS, SLOTS)
    environments = task.make(0, ENVIRONMENTS, buffers, 0)
    environments.reset(np.ones(ENVIRONMENTS, np.bool_), 0)
    none, random = np.empty((SLOTS, 0, 0), np.uint8), np.zeros(1, np.int64)
    masks = buffers["action_mask"] if task.masked else none

    def work() -> int:
        counted = 0
        for slot in range(SLOTS):  # a step of the last slot writes slot 0
            choose(masks[slot], task.num_actions, buffers["action"][slot], random)
            if episodes:
                counted += ENVIRONMENTS - count_of(buffers["outcome"][slot], 0)
            else:
                counted += count_of(buffers["active"][slot], DECIDES)
            environments.step(slot)
        return counted

    work()  # compiles
    return median(rate_of(work, seconds / RUNS, thread_time) for _ in range(RUNS))


def measure_engine(*, repeat: int = 5, seconds: float = 2.0, progress: Progress) -> Results:
    """Measure each game `repeat` times, in turn; return the summaries of the rates."""
    rates = {
        "placements_per_second": partial(play_rate, "drmario", seconds),
        "autochess_decisions_per_second": partial(play_rate, "autochess:players=8", seconds),
        "treasure_agent_steps_per_second": partial(play_rate, "treasure:agents=8", seconds),
        "holdem_hands_per_second": partial(play_rate, "holdem", seconds, episodes=True),
    }
    return {name: summary_of(values) for name, values in alternate(rates, repeat, progress).items()}
