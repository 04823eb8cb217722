"""Measures the round trip of a step on every backend with the same task, in turn within one run."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from typing import Any

import numpy as np

from ....backends.core.base import Backend
from ....backends.core.errors import BackendUnavailable
from ....backends.factory import BACKENDS, make
from ....envs import Task, find
from ..facts import Progress, Results
from ..turns import portion
from .rates import RandomLegal

COUNTS = (1, 32)
BLOCKS = 20
WARM_UP = 20
"""Steps before a block that are not counted, because workers sleep after a long wait."""


def compare_transports(*, task: str = "noop", trips: int = 10_000, progress: Progress) -> Results:
    """Measure steps of 1 and of 32 environments with random legal actions, in alternating blocks.

    Args:
        task: The task's text.
        trips: Environment steps per transport and N; the number of round trips is `trips / N`.
        progress: Called with the current measurement.

    Returns:
        `rows`: `transport`, `num_envs`, `workers`, `trips`, percentiles of a step of all environments in microseconds
        and `sps`, environment steps per second of the time in the backend; `p50_us` at N = 1 by transport;
        `http_over_shm`, their ratio, if both run; `absent`: the reasons of backends that cannot run this task here.
    """
    known = find(task)
    known.prepare()
    rows: list[Results] = []
    absent: dict[str, str] = {}
    for index, num_envs in enumerate(COUNTS):
        rows += _at(known, num_envs, trips, absent, portion(progress, index, len(COUNTS)))
    p50 = {row["transport"]: row["p50_us"] for row in rows if row["num_envs"] == 1}
    both = "http" in p50 and "shm" in p50
    return {
        "task": task,
        "rows": rows,
        "p50_us": p50,
        "http_over_shm": p50["http"] / p50["shm"] if both else None,
        "absent": absent,
    }


def _at(task: Task, num_envs: int, trips: int, absent: dict[str, str], progress: Progress) -> list[Results]:
    """Measure every backend that runs `task` at one N."""
    count = max(1, trips // num_envs // BLOCKS)
    with ExitStack() as stack:
        opened: dict[str, Backend] = {}
        for name in BACKENDS:
            try:
                opened[name] = stack.enter_context(closing(make(task, num_envs, name, strict=True)))
            except BackendUnavailable as error:
                absent[name] = str(error)
        times: dict[str, list[int]] = {name: [] for name in opened}
        choosers = {name: RandomLegal(task, envs.rows) for name, envs in opened.items()}
        for envs in opened.values():
            envs.start()
        for block in range(BLOCKS):
            for number, (name, envs) in enumerate(opened.items()):
                progress(f"{name}, N={num_envs}", (block + number / len(opened)) / BLOCKS)
                _trips(envs, choosers[name], min(WARM_UP, count))
                times[name] += _trips(envs, choosers[name], count)
        return [_row(envs, times[name]) for name, envs in opened.items()]


def _trips(envs: Backend, choose: RandomLegal, count: int) -> list[int]:
    """Step `count` times in place; return the duration of each step in ns."""
    advance, clock, times = envs.advance, time.perf_counter_ns, []
    for _ in range(count):
        choose(envs, 0)
        begun = clock()
        advance(0)
        times.append(clock() - begun)
    return times


def _row(envs: Backend, times: list[int]) -> Results:
    p50, p95, p99 = (np.percentile(times, [50, 95, 99]) / 1000).tolist()
    row: dict[str, Any] = {"transport": envs.name, "num_envs": envs.environments, "workers": len(envs.workers)}
    row |= {"trips": len(times), "p50_us": p50, "p95_us": p95, "p99_us": p99}
    return row | {"sps": 1e9 * envs.environments * len(times) / sum(times)}
