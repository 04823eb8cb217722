"""What it costs a training when somebody looks where its time goes: python -m tests.benchmarks looking."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from statistics import median
from typing import Any

import psutil

from pac.training.bench.facts import Progress, Results
from pac.training.bench.turns import alternate
from pac.training.config import Config
from pac.training.session.control import SessionClient
from pac.training.session.host import launch
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

START, PART = 60.0, 1.0
SIDES = "nothing", "timeline", "profile"
BOUNDS = {"timeline": 1.0, "profile": 3.0}
"""The largest costs, in % of the speed."""


def looking_cost(
    *, task: str = "drmario", trainer: str = "ppo", seconds: float = 8.0, rounds: int = 11, progress: Progress
) -> Results:
    """Train in one session, and look alternately at nothing, at the timeline, and at samples of the stacks.

    Args:
        task: What is trained.
        trainer: How.
        seconds: Seconds of each measurement.
        rounds: Measurements of each kind.
        progress: Called with the current measurement.

    Returns:
        `steps_per_second` and `cpu`, the CPU time of a step in us, of each kind; by how many percent both are worse
        than of `nothing`, as medians over neighbours: `slower` and `more_cpu`.
    """
    process = launch(Config(task=task, trainer=trainer, backend="shm", num_envs=8, workers=2))
    reader, client = TelemetryReader(process.directory), SessionClient(process.directory)
    with closing(client):

        def state() -> Any:
            return take_snapshot(reader, ViewRequest())

        end = time.monotonic() + START
        while state().phase is not Phase.RUNNING or state().state["steps"] == 0:
            assert time.monotonic() < end, "it does not train"
            time.sleep(0.1)
        session = psutil.Process(int(state().description.pid))

        def counts() -> tuple[int, int]:
            now = state().state
            return int(now["iterations"]), int(now["steps"])

        def side(name: str) -> Callable[[], tuple[float, float]]:
            return lambda: _measured(name, seconds, session, client, counts)

        try:
            found = alternate({name: side(name) for name in SIDES}, rounds, progress)
        finally:
            client.call("stop")
            process.report()
    worse = {
        kind: {
            name: 100 * median(sign * (b[at] / a[at] - 1) for a, b in zip(found["nothing"], found[name], strict=True))
            for name in BOUNDS
        }
        for kind, at, sign in (("slower", 0, -1), ("more_cpu", 1, 1))
    }
    values = {
        kind: {name: scale * median(one[at] for one in found[name]) for name in SIDES}
        for kind, at, scale in (("steps_per_second", 0, 1.0), ("cpu", 1, 1e6))
    }
    return {"task": task, "trainer": trainer, "bounds": BOUNDS, **values, **worse}


def _measured(
    name: str, seconds: float, session: psutil.Process, client: SessionClient, counts: Callable[[], tuple[int, int]]
) -> tuple[float, float]:
    """Return steps per second, and CPU seconds per step of the session and its workers, of whole iterations."""
    client.call("look", count=0, timeline=name == "timeline")
    time.sleep(PART)
    before, cpu, begun = _next_iteration(counts), _cpu(session), time.monotonic()
    while time.monotonic() < begun + seconds:
        if name == "profile":
            client.call("profile", seconds=PART)
        else:
            time.sleep(PART)
    count, spent, took = _next_iteration(counts) - before, _cpu(session) - cpu, time.monotonic() - begun
    return count / took, spent / count


def _next_iteration(counts: Callable[[], tuple[int, int]]) -> int:
    """Wait for the end of an iteration; return the steps so far."""
    first = counts()[0]
    while (now := counts())[0] == first:
        time.sleep(0.002)
    return now[1]


def _cpu(session: psutil.Process) -> float:
    times = [one.cpu_times() for one in (session, *session.children(recursive=True))]
    return sum(one.user + one.system for one in times)
