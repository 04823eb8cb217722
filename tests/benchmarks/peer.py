"""The program that `peers` measures: one vector environment, stepped for the requested time.

An interpreter without pac-tui can run this file, so only our own backends import it. Arguments: the peer, the
environment (a Gymnasium id or `burn:WORK`), N and the cores. Then each line of standard input is a number of seconds,
and each line of standard output is a JSON object.
"""

from __future__ import annotations

import itertools
import json
import math
import multiprocessing
import os
import sys
import time
from binascii import crc_hqx
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

ROUNDS = 64
WORKERS = 2
WARM = 0.02
"""Seconds of steps before a measurement: after a stop, caches are cold and workers sleep."""

Run = Callable[[float], float]
Actions = NDArray[np.int64]
Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]
LENGTH = 1000
BLOCK = bytes(range(128))


class Burn(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Uses CPU time at each step. It has 612 observed numbers, 92 actions, and ends after 1,000 steps.

    It computes a checksum byte by byte. The time is the same in every process, hardly depends on the core's other
    thread and does not use the caches. Adding up numbers varied by a quarter with their addresses, and by half with the
    other thread.

    Args:
        work: Blocks of bytes per step.
        masked: Whether infos contain an action mask, with all actions legal.
    """

    def __init__(self, work: int = 40, masked: bool = True) -> None:
        self.observation_space = Box(-1.0, 1.0, (612,), np.float32)
        self.action_space = Discrete(92)
        self._observation = np.zeros(612, np.float32)
        self._info: dict[str, Any] = {"action_mask": np.ones(92, np.bool_)} if masked else {}
        self._work = range(work)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        self._steps = 0
        return self._observation, self._info

    def step(self, action: np.int64 | int) -> Step:
        """Compute the checksum; the reward depends on the action."""
        self._steps += 1
        self._observation[0] = (burn(self._work) + int(action)) % 92 / 92
        return self._observation, 1.0, False, self._steps >= LENGTH, self._info


def burn(work: range) -> int:
    """Return the checksum of `len(work)` blocks."""
    total = 0
    for _ in work:
        total = crc_hqx(BLOCK, total)
    return total


def work_for(seconds: float) -> int:
    """Return the `work` with which a step of `Burn` takes about `seconds` on this machine."""
    work, best = range(200), math.inf
    for _ in range(50):
        begun = time.perf_counter()
        burn(work)
        best = min(best, time.perf_counter() - begun)
    return max(1, round(len(work) * seconds / best))


class Workload:
    """The environments and actions of a measurement.

    Attributes:
        name: A Gymnasium id or `burn:WORK`.
        num_envs: N.
        actions: `(64, N)` legal actions, drawn in advance and used in turn.
    """

    def __init__(self, name: str, num_envs: int) -> None:
        self.name, self.num_envs = name, num_envs
        count = self.make().action_space.n
        self.actions: Actions = np.random.default_rng(0).integers(0, count, (ROUNDS, num_envs))

    def make(self, *, masked: bool = True) -> Any:
        """Return one environment; `masked` adds an action mask to its info."""
        if not self.name.startswith("burn:"):
            return gymnasium.make(self.name)
        return Burn(int(self.name.partition(":")[2]), masked)

    def rate(self, step: Callable[[Any], object], actions: Any = None) -> Run:
        """Return a function that calls `step` for some seconds and returns the steps per second."""
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


def loop(workload: Workload) -> Run:
    """Step one environment after the other, without a vector environment."""
    envs = [workload.make() for _ in range(workload.num_envs)]
    for env in envs:
        env.reset(seed=0)

    def step(actions: list[int]) -> None:
        for env, action in zip(envs, actions, strict=True):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return workload.rate(step, workload.actions.tolist())


def loops(workload: Workload) -> Run:
    """Run one loop per worker at once, each with its share of the environments: the limit of the cores."""
    shares = [_share(workload, index) for index in range(WORKERS)]

    def run(seconds: float) -> float:
        for share in shares:
            share.send(seconds)
        rates: list[float] = [share.recv() for share in shares]
        return sum(rates)

    return run


def _share(workload: Workload, index: int) -> Any:
    """Start a process that loops over a worker's share; return a connection that takes seconds and returns rates."""
    ours, theirs = multiprocessing.Pipe()
    if os.fork():
        theirs.close()
        return ours
    first, end = (workload.num_envs * part // WORKERS for part in (index, index + 1))
    step = loop(Workload(workload.name, max(1, end - first)))
    while True:
        theirs.send(step(theirs.recv()))


def gymnasium_envs(workload: Workload, kind: str, **options: Any) -> Run:
    """Step a vector environment of Gymnasium. In AsyncVectorEnv, each environment is a process."""
    from gymnasium import vector

    envs = getattr(vector, kind)([workload.make] * workload.num_envs, **options)
    envs.reset(seed=0)
    return workload.rate(envs.step)


def sb3_envs(workload: Workload, kind: str, **options: Any) -> Run:
    """Step a vector environment of Stable-Baselines3. In SubprocVecEnv, each environment is a process."""
    from stable_baselines3.common import vec_env

    envs = getattr(vec_env, kind)([workload.make] * workload.num_envs, **options)
    envs.reset()
    return workload.rate(envs.step)


def pufferlib(workload: Workload, backend: str, **options: Any) -> Run:
    """Step a vector environment of PufferLib. It collects infos at every step, so masks would slow it down."""
    from pufferlib import vector
    from pufferlib.emulation import GymnasiumPufferEnv

    def make(**arguments: Any) -> Any:
        return GymnasiumPufferEnv(env=workload.make(masked=False), **arguments)

    envs = vector.make(make, backend=getattr(vector, backend), num_envs=workload.num_envs, **options)
    envs.reset(seed=0)
    return workload.rate(lambda actions: vector.step(envs, actions), workload.actions.astype(np.int32))


def ours(workload: Workload, backend: str) -> Run:
    """Step one of pac-tui's backends."""
    from pac.backends import make
    from pac.training.bench.backends.rates import SLOTS

    spec = workload.name.replace("burn:", "tests.benchmarks.peer:Burn:work=")
    envs = make(spec, workload.num_envs, backend, workers=WORKERS, slots=SLOTS)
    envs.start()
    slots = itertools.cycle(range(SLOTS - 1))

    def step(actions: Actions) -> None:
        """Step as trainers do: fill a rollout, then carry its last slot to the next one."""
        slot = next(slots)
        envs.buffer["action"][slot] = actions
        envs.advance(slot)
        if slot == SLOTS - 2:
            envs.carry()

    return workload.rate(step)


PEERS: dict[str, Callable[[Workload], Run]] = {
    "gymnasium-sync": partial(gymnasium_envs, kind="SyncVectorEnv"),
    "gymnasium-async": partial(gymnasium_envs, kind="AsyncVectorEnv", context="fork"),
    "sb3-dummy": partial(sb3_envs, kind="DummyVecEnv"),
    "sb3-subproc": partial(sb3_envs, kind="SubprocVecEnv", start_method="fork"),
    "pufferlib-serial": partial(pufferlib, backend="Serial"),
    "pufferlib-multiprocessing": partial(pufferlib, backend="Multiprocessing", num_workers=WORKERS, overwork=True),
}
OURS: dict[str, Callable[[Workload], Run]] = {
    "loop": loop,
    "loops": loops,
    "inline": partial(ours, backend="inline"),
    "shm": partial(ours, backend="shm"),
}


def serve(cores: str, make: Callable[[], Callable[..., dict[str, Any]]]) -> None:
    """Run on the given cores, and answer requests.

    Args:
        cores: Their numbers, separated by commas.
        make: Returns the function that answers the numbers of a request; an `ImportError` is the reason of absence.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # a library's own output is not an answer
    try:
        answer = make()
    except ImportError as error:
        print(json.dumps({"absent": str(error).partition("\n")[0]}), file=answers)
        return
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        print(json.dumps(answer(*map(float, line.split()))), file=answers)
    os._exit(0)  # libraries may hang at exit; the caller kills the process group with their workers


def main() -> None:
    """Measure the peer that the arguments name."""
    name, environment, num_envs, cores = sys.argv[1:]

    def make() -> Callable[[float], dict[str, Any]]:
        run = (PEERS | OURS)[name](Workload(environment, int(num_envs)))
        run(0.1)
        return lambda seconds: {"sps": run(seconds)}

    serve(cores, make)


if __name__ == "__main__":
    main()
