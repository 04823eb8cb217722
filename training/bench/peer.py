"""One contestant of `peers`: a vector environment in a process of its own, measured for as long as it is told to.

It is also run as a file by an interpreter that has a peer and not us, so it imports nothing of ours but for our own
sides. Arguments: the contestant, the environment (a Gymnasium id, or `burn:WORK`), N, and the cores to keep to. Then
each line of standard input is a number of seconds, and each line of standard output a JSON object.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDS = 64
WORKERS = 2
WARM = 0.02
"""Seconds of steps before the clock runs: who was stopped finds its caches cold and its workers asleep."""

Run = Callable[[float], float]
Actions = NDArray[np.int64]


class Contest:
    """What is stepped.

    Attributes:
        name: The environment's name.
        num_envs: N.
        actions: `(64, N)` actions drawn before, used in turn; all are legal.
    """

    def __init__(self, name: str, num_envs: int) -> None:
        self.name, self.num_envs = name, num_envs
        count = self.make().action_space.n
        self.actions: Actions = np.random.default_rng(0).integers(0, count, (ROUNDS, num_envs))

    def make(self, *, masked: bool = True) -> Any:
        """Return one environment; without a mask it tells nothing but the observation."""
        import gymnasium

        if not self.name.startswith("burn:"):
            return gymnasium.make(self.name)
        return toys().Burn(int(self.name.partition(":")[2]), masked)

    def rate(self, step: Callable[[Any], object], actions: Any = None) -> Run:
        """Return what calls `step` with the actions of all environments for some seconds and gives the steps/s."""
        batches = list(self.actions if actions is None else actions)

        def run(seconds: float) -> float:
            warm = time.perf_counter() + WARM
            while time.perf_counter() < warm:
                step(batches[0])
            begun, rounds = time.perf_counter(), 0
            while (now := time.perf_counter()) - begun < seconds:
                step(batches[rounds % ROUNDS])
                rounds += 1
            return rounds * self.num_envs / (now - begun)

        return run


def toys() -> Any:
    """Return the module of the environment that only costs time, from its file."""
    path = Path(__file__).parent / "backends" / "toys.py"
    found = importlib.util.spec_from_file_location("toys", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def loop(contest: Contest) -> Run:
    """One environment after the other, without any vector environment."""
    envs = [contest.make() for _ in range(contest.num_envs)]
    for env in envs:
        env.reset(seed=0)

    def step(actions: list[int]) -> None:
        for env, action in zip(envs, actions, strict=True):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return contest.rate(step, contest.actions.tolist())


def loops(contest: Contest) -> Run:
    """As many loops at once as there are workers, each of its share of the environments: what the cores can do."""
    shares = [_share(contest, index) for index in range(WORKERS)]

    def run(seconds: float) -> float:
        for share in shares:
            share.send(seconds)
        rates: list[float] = [share.recv() for share in shares]
        return sum(rates)

    return run


def _share(contest: Contest, index: int) -> Any:
    """Start a process that loops over a worker's share; return the connection that takes seconds and gives rates."""
    ours, theirs = multiprocessing.Pipe()
    if os.fork():
        theirs.close()
        return ours
    first, end = (contest.num_envs * part // WORKERS for part in (index, index + 1))
    step = loop(Contest(contest.name, max(1, end - first)))
    while True:
        theirs.send(step(theirs.recv()))


def gymnasium_sync(contest: Contest) -> Run:
    """Gymnasium's loop."""
    from gymnasium.vector import SyncVectorEnv

    envs = SyncVectorEnv([contest.make] * contest.num_envs)
    envs.reset(seed=0)
    return contest.rate(envs.step)


def gymnasium_async(contest: Contest) -> Run:
    """Gymnasium's processes, one per environment, observations in shared memory."""
    from gymnasium.vector import AsyncVectorEnv

    envs = AsyncVectorEnv([contest.make] * contest.num_envs, context="fork")
    envs.reset(seed=0)
    return contest.rate(envs.step)


def sb3_dummy(contest: Contest) -> Run:
    """The loop of Stable-Baselines3."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    envs = DummyVecEnv([contest.make] * contest.num_envs)
    envs.reset()
    return contest.rate(envs.step)


def sb3_subproc(contest: Contest) -> Run:
    """The processes of Stable-Baselines3, one per environment."""
    from stable_baselines3.common.vec_env import SubprocVecEnv

    envs = SubprocVecEnv([contest.make] * contest.num_envs, start_method="fork")
    envs.reset()
    return contest.rate(envs.step)


def pufferlib_serial(contest: Contest) -> Run:
    """PufferLib's loop."""
    return _pufferlib(contest, "Serial")


def pufferlib_multiprocessing(contest: Contest) -> Run:
    """PufferLib's processes, as many as ours."""
    return _pufferlib(contest, "Multiprocessing", num_workers=WORKERS, overwork=True)


def _pufferlib(contest: Contest, backend: str, **options: Any) -> Run:
    """PufferLib gathers infos at every step, which would carry the mask dearly: it is spared the mask."""
    from pufferlib import vector
    from pufferlib.emulation import GymnasiumPufferEnv

    def make(**arguments: Any) -> Any:
        return GymnasiumPufferEnv(env=contest.make(masked=False), **arguments)

    envs = vector.make(make, backend=getattr(vector, backend), num_envs=contest.num_envs, **options)
    envs.reset(seed=0)
    return contest.rate(lambda actions: vector.step(envs, actions), contest.actions.astype(np.int32))


def inline(contest: Contest) -> Run:
    """Our loop."""
    return _ours(contest, "inline")


def shm(contest: Contest) -> Run:
    """Our processes."""
    return _ours(contest, "shm")


def _ours(contest: Contest, backend: str) -> Run:
    from ...backends import make
    from .backends.rates import BURN, SLOTS

    spec = contest.name.replace("burn:", f"{BURN}:work=")
    envs = make(spec, contest.num_envs, backend, workers=WORKERS, slots=SLOTS)
    envs.start()
    slots = itertools.cycle(range(SLOTS - 1))

    def step(actions: Actions) -> None:
        """Step as trainers do: into a rollout, whose end is the next one's beginning."""
        slot = next(slots)
        envs.buffer["action"][slot] = actions
        envs.advance(slot)
        if slot == SLOTS - 2:
            envs.carry()

    return contest.rate(step)


PEERS: dict[str, Callable[[Contest], Run]] = {
    "gymnasium-sync": gymnasium_sync,
    "gymnasium-async": gymnasium_async,
    "sb3-dummy": sb3_dummy,
    "sb3-subproc": sb3_subproc,
    "pufferlib-serial": pufferlib_serial,
    "pufferlib-multiprocessing": pufferlib_multiprocessing,
}
OURS: dict[str, Callable[[Contest], Run]] = {"loop": loop, "loops": loops, "inline": inline, "shm": shm}


def main() -> None:
    """Make the contestant that the arguments name, and measure it whenever told to."""
    name, environment, num_envs, cores = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a peer prints is no answer
    try:
        run = (PEERS | OURS)[name](Contest(environment, int(num_envs)))
    except ImportError as error:
        print(json.dumps({"absent": str(error).partition("\n")[0]}), file=answers)
        return
    run(0.1)
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        print(json.dumps({"sps": run(float(line))}), file=answers)
    os._exit(0)  # peers may hang in their tidying up; their processes are this one's group, which is ended


if __name__ == "__main__":
    main()
