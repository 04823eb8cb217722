"""Tries out whether actions matter, in an environment of its own, as a program: `python -m pac.training.trying`.

A session starts it once if its training does not learn. From several states it takes each action again and again, and
compares what is observed and rewarded. The training's own environments are not touched, and the first difference ends
the search.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from typing import NamedTuple

import numpy as np

from ..backends.workers.worker import read_instructions
from ..envs import Task, find
from ..envs.fields import Array
from ..envs.titles import set_title
from .past.rerun import RerunEnv
from .playing import evaluation_seed

MOST_ACTIONS = 32
STATES, LONGEST = 8, 1000
"""States that actions are taken from, and steps until an action has shown its effect or is given up."""
APART = 40
"""Random steps, at most, between two of these states."""
SECONDS = 30.0
"""Seconds for all of it."""
SEEN = ("observation", "reward", "terminated", "truncated")


class Tried(NamedTuple):
    """What was found out about a task's actions.

    Attributes:
        actions: Actions that were compared.
        states: States from which they were taken, and none mattered; 0 if one did, or nothing can be said.
    """

    actions: int = 0
    states: int = 0


def can_try(task: Task) -> bool:
    """Whether the states of a task can be saved, and its actions be compared."""
    return bool(task.state) and not (task.shared or task.masked or task.watched) and task.players == 1


def tried(task: Task, seed: int, *, seconds: float = SECONDS) -> Tried:
    """Take all actions from several states; return from how many of them none mattered.

    An environment in which the same action leads to different states has an element of chance, and is not judged.
    """
    actions, end = actions_of(task), time.monotonic() + seconds
    random = np.random.default_rng(seed)
    with closing(RerunEnv(task, seed, 0)) as env:
        episode = 0
        env.begin(episode)
        for number in range(STATES):
            for _ in range(int(random.integers(0, number * APART + 1))):
                env.step(actions[random.integers(len(actions))][None])
                if _over(env):
                    episode += 1
                    env.begin(episode)
            state = env.saved()
            if not state.any():
                return Tried()
            again = [actions[0], *actions]  # the first one twice, which shows whether chance plays a part
            first = None
            for action in again:
                trace = _trace(env, state, action, end)
                if trace is None or (first is not None and trace != first):
                    return Tried()
                first = trace
            env.restore(state)
    return Tried(len(actions), STATES)


def _trace(env: RerunEnv, state: Array, action: Array, end: float) -> bytes | None:
    """Return what follows when an action is taken again and again until the episode ends; None if that takes too long.

    Of an episode that goes on, the last state is a part of it.
    """
    env.restore(state)
    seen = []
    for _ in range(LONGEST):
        env.step(action[None])
        seen += [env.row(name).tobytes() for name in SEEN]
        if _over(env):
            return b"".join(seen)
        if time.monotonic() > end:
            return None
    return b"".join([*seen, env.saved().tobytes()])


def _over(env: RerunEnv) -> bool:
    return bool(env.row("terminated")[0] or env.row("truncated")[0])


def actions_of(task: Task) -> Array:
    """Return actions that differ: all of few choices, some of many, and the corners of continuous ones."""
    kind = np.dtype(task.action.dtype)
    if not task.bounds and not task.choices:
        return np.unique(np.linspace(0, task.num_actions - 1, MOST_ACTIONS).astype(kind))
    ends = task.bounds or [(0.0, float(count - 1)) for count in task.choices]
    ends = [(max(low, -1e3), min(high, 1e3)) for low, high in ends]
    return np.array(list(_corners(ends)), kind)


def _corners(ends: list[tuple[float, float]]) -> Iterator[list[float]]:
    """Yield the corners of a box; of one with too many, those at which one number differs from the others."""
    if 2 ** len(ends) <= MOST_ACTIONS:
        yield from map(list, product(*ends))
        return
    lows, highs = map(list, zip(*ends, strict=True))
    yield lows
    yield highs
    for index in range(min(len(ends), MOST_ACTIONS - 2)):
        yield [*lows[:index], highs[index], *lows[index + 1 :]]


def main() -> None:
    """Answer one request."""
    os.nice(19)  # the training goes first
    setup = read_instructions()
    set_title("actions")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what environments print is no answer
    found = tried(find(setup["task"]), evaluation_seed(setup["seed"]))
    print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
