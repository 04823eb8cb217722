"""Measures PPO with and without `overlap`: collecting and learning at the same time, or one after the other.

python -m tests.benchmarks overlap
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np
import psutil
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from pac.backends import usable_cores
from pac.training.bench.alone import started
from pac.training.bench.facts import Progress, Results
from pac.training.bench.measured_process import results_of
from pac.training.bench.turns import alternate, compared

from .peer import work_for

if TYPE_CHECKING:
    from pac.training.ppo.trainer import PPO
    from pac.training.trainer import Timer

WAIT, BURN = 0.005, 100e-6
"""Seconds of a step of the environment that waits, and of the one that computes."""
MOST_EPOCHS = 500
LIMIT = 300.0


class WaitingEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Waits at each step, as for a simulator or another machine. It observes 64 numbers and ends after 100 steps."""

    def __init__(self) -> None:
        self.observation_space = Box(-1.0, 1.0, (64,), np.float32)
        self.action_space = Discrete(4)
        self._observation = np.zeros(64, np.float32)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        self._steps = 0
        return self._observation, {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Wait; the reward is 1 for action 0."""
        time.sleep(WAIT)
        self._steps += 1
        self._observation[self._steps % 64] = int(action) / 4
        return self._observation, float(action == 0), False, self._steps >= 100, {}


class Case(NamedTuple):
    """Environments, and settings of PPO.

    Attributes:
        task: The task.
        backend: Name of the backend that steps it.
        num_envs: Number of environments N.
        workers: Number of workers; None is one per core.
        settings: Settings of PPO.
        balanced: Whether to choose the number of epochs with which learning takes as long as collecting.
    """

    task: str
    backend: str
    num_envs: int
    workers: int | None
    settings: dict[str, Any]
    balanced: bool


class Training(NamedTuple):
    """A training without a session.

    Attributes:
        trainer: The trainer, which has been started.
        timer: Measures the phases of its thread.
        num_envs: Number of environments N.
    """

    trainer: PPO
    timer: Timer
    num_envs: int


CASES = {
    "waiting": Case(f"{__spec__.name}:WaitingEnv", "shm", 32, 4, {"batch": 512, "minibatch": 128}, balanced=True),
    "http": Case("autochess", "http", 8, None, {"batch": 512, "minibatch": 128}, balanced=True),
    "burn-100us": Case("tests.benchmarks.peer:Burn:work={work}", "shm", 32, None, {}, balanced=False),
}


def measure_overlap(*, seconds: float = 4.0, rounds: int = 7, progress: Progress) -> Results:
    """Measure PPO with and without `overlap` on environments that wait, over HTTP, and with both cores busy.

    Args:
        seconds: Length of each measurement; at least one iteration.
        rounds: Measurements of each way, alternating.
        progress: Called with the current measurement.

    Returns:
        Per case: environment steps per second of `plain` and `overlap` (median, min, max), `ratio`, the median over
        the rounds, the `epochs`, the share of the time that `plain` learns, and the lanes' results; `busy_cores`, how
        many cores both ways keep busy, with workers and servers; `limit`, the ratio at which the work of `plain` would
        keep all cores busy.

    Raises:
        MeasurementFailed: A measurement failed.
    """
    found: Results = {}
    for number, name in enumerate(CASES):
        progress(f"overlap, {name}", number / len(CASES))
        found[name] = results_of(compare, name, seconds, rounds, limit=20 * seconds * rounds + LIMIT)
    return found


def compare(name: str, seconds: float, rounds: int) -> Results:
    """Measure both ways of a case in this process, in turn."""
    case = CASES[name]
    with ExitStack() as stack:
        with training(case) as probe:
            if case.balanced:
                epochs, share = balanced_epochs(probe)
            else:
                epochs, share = probe.trainer.settings.epochs, shares(probe)[1]
        ways = {
            way: stack.enter_context(training(case, overlap=way == "overlap", epochs=epochs))
            for way in ("plain", "overlap")
        }
        found = alternate({way: partial(rate, each, seconds) for way, each in ways.items()}, rounds)
    samples = {way: [steps_per_second for steps_per_second, _ in measured] for way, measured in found.items()}
    cores = {way: median(metrics["busy_cores"] for _, metrics in measured) for way, measured in found.items()}
    _, latest = found["overlap"][-1]
    return {
        **compared(samples, "overlap", "plain"),
        "epochs": epochs,
        "learning_share": share,
        "busy_cores": cores,
        "limit": min(2.0, usable_cores() / cores["plain"]),
        **{name: value for name, value in latest.items() if name.startswith("overlap/")},
    }


@contextmanager
def training(case: Case, **settings: Any) -> Iterator[Training]:
    """Train by PPO without a session."""
    from pac.envs import find

    task = find(case.task.format(work=work_for(BURN)))
    chosen = case.settings | settings
    with started("ppo", task, chosen, case.num_envs, case.backend, workers=case.workers) as (trainer, timer):
        for _ in range(2):  # the first ones compile, and overlap nothing
            trainer.iterate()
        yield Training(trainer, timer, case.num_envs)


def shares(measured: Training) -> tuple[float, float]:
    """Return the seconds that an iteration collects, and the share of its time that it learns."""
    timer = measured.timer
    before, begun = timer.seconds["learner"], time.perf_counter()
    measured.trainer.iterate()
    whole, learning = time.perf_counter() - begun, timer.seconds["learner"] - before
    return whole - learning, learning / whole


def balanced_epochs(probe: Training) -> tuple[int, float]:
    """Return the number of epochs with which learning takes as long as collecting, and the share of learning then."""
    collecting, share = zip(*(shares(probe) for _ in range(3)), strict=True)
    collects, learns = median(collecting), median(collecting) * median(share) / (1 - median(share))
    each = learns / probe.trainer.settings.epochs
    epochs = min(MOST_EPOCHS, max(1, round(collects / each)))
    return epochs, epochs * each / (epochs * each + collects)


def rate(measured: Training, seconds: float) -> tuple[float, dict[str, float]]:
    """Return the environment steps per second of whole iterations, and the results of the last one and `busy_cores`."""
    trainer = measured.trainer
    before, computed, begun = trainer.steps, cpu_seconds(), time.perf_counter()
    while True:
        metrics = trainer.iterate()
        spent = time.perf_counter() - begun
        if spent >= seconds:
            busy_cores = (cpu_seconds() - computed) / spent
            return (trainer.steps - before) * measured.num_envs / spent, metrics | {"busy_cores": busy_cores}


def cpu_seconds() -> float:
    """Return the CPU time of this process and its workers so far, in s."""
    this = psutil.Process()
    return sum(sum(each.cpu_times()[:2]) for each in (this, *this.children(recursive=True)))
