"""Measures the device backend on the CPU: its steps against threads, PPO against worker processes, and parts of PPO.

pac-tui bench device --json
"""

from __future__ import annotations

import gc
import time
from contextlib import closing
from functools import partial

from ...backends import make
from ...backends.core.base import Backend
from ...envs import find
from ..config import Config
from .backends.rates import RandomLegal
from .facts import Progress, Results
from .ppo_parts import ppo_parts
from .scaling import measure
from .turns import alternate, compared, portion

TASK, NUM_ENVS, WORKERS = "drmario", 256, 2
SLOTS = 17


def measure_device(
    *, seconds: float = 1.0, training: float = 15.0, rounds: int = 7, large: int = 8_192, progress: Progress
) -> Results:
    """Measure the device backend on the CPU with two threads.

    Args:
        training: Seconds of each training.
        rounds: Number of alternating measurements.
        large: The larger N at which the parts of PPO are measured.
        progress: Called with the current measurement.

    Returns:
        `steps` and `ppo` with the rates of both sides and their `ratio`, the median over pairs; for each N in `parts`
        the rates and seconds of the parts of PPO, and the memory.
    """
    found: Results = {"task": TASK, "num_envs": NUM_ENVS, "workers": WORKERS}
    found["steps"] = _steps(seconds, rounds, portion(progress, 0, 3))
    found["ppo"] = _training(training, rounds, portion(progress, 1, 3))
    found["parts"] = {}
    for number, count in enumerate((NUM_ENVS, large)):
        progress(f"PPO, N = {count:,}", (2 + number / 2) / 3)
        found["parts"][str(count)] = ppo_parts(find(TASK), count, "device", WORKERS)
        gc.collect()
    return found


def _steps(seconds: float, rounds: int, progress: Progress) -> Results:
    """Return placements per second with random legal actions; choosing them is not counted."""
    with (
        closing(make(TASK, NUM_ENVS, "threads", strict=True, workers=WORKERS, slots=SLOTS)) as threads,
        closing(make(TASK, NUM_ENVS, "device", strict=True, workers=WORKERS, slots=SLOTS)) as device,
    ):
        for envs in (threads, device):
            envs.start()
        sides = {envs.name: partial(_rate, envs, seconds) for envs in (threads, device)}
        return compared(alternate(sides, rounds, progress), "device", "threads")


def _rate(envs: Backend, seconds: float) -> float:
    choose, order, spent, steps = RandomLegal(envs.task, envs.rows), envs.order, 0.0, 0
    while spent < seconds:
        if order.full:
            envs.carry()
        choose(envs, order.newest)
        begun = time.perf_counter()
        envs.advance(order.newest)
        spent += time.perf_counter() - begun
        steps += envs.environments
    return steps / spent


def _training(seconds: float, rounds: int, progress: Progress) -> Results:
    """Return steps per second of whole PPO trainings."""
    plain = Config(task=TASK, num_envs=NUM_ENVS, workers=WORKERS, device="cpu", seconds=seconds, checkpoint_every=0)

    def sps(backend: str) -> float:
        return float(measure(plain.model_copy(update={"backend": backend}))["sps"])

    sides = {backend: partial(sps, backend) for backend in ("shm", "device")}
    return compared(alternate(sides, rounds, progress), "device", "shm")
