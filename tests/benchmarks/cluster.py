"""Predicts the speed of training in many processes, from costs that are measured on this machine.

python -m tests.benchmarks cluster --simulate
python -m tests.benchmarks cluster --simulate --check
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from pac.envs.fields import Array
from pac.training.bench.facts import Progress, Results, ratios_of, summary_of
from pac.training.bench.measured_process import CORES, MeasurementFailed, last_line, measured_cores
from pac.training.bench.turns import alternate

from .ranks import EPOCHS, NUM_ENVS, SETTINGS, TASK, settings, train

BATCH = SETTINGS["batch"]
LIMIT = 120.0
DRAWS = 200
"""Simulated iterations for each round of measurements."""


@dataclass(frozen=True)
class Network:
    """The cost of messages between two processes.

    Attributes:
        latency: Seconds that a message without data takes.
        bandwidth: Bytes per second.
    """

    latency: float
    bandwidth: float

    def all_reduce(self, ranks: int, size: float) -> float:
        """Return the seconds of a ring all-reduce of `size` bytes: 2 (R - 1) messages of `size` / R bytes each."""
        return 2 * (ranks - 1) * (self.latency + size / ranks / self.bandwidth)


@dataclass(frozen=True)
class Costs:
    """What one rank computes in an iteration, and its all-reduces with the others.

    Attributes:
        rounds: For each round of measurements, the seconds of computing before each all-reduce, `(iterations, sums)`.
        sizes: Bytes of each all-reduce.
    """

    rounds: Sequence[Array]
    sizes: Sequence[int]

    def computing(self, ranks: int) -> float:
        """Return the seconds of an iteration without the all-reduces: each part takes as long as on the slowest rank.

        Each rank takes as long as in one of the iterations that were measured at the same time.
        """
        random = np.random.default_rng(0)
        drawn = (parts[random.integers(len(parts), size=ranks)] for parts in self.rounds for _ in range(DRAWS))
        return float(np.mean([parts.max(axis=0).sum() for parts in drawn]))

    def summing(self, ranks: int, network: Network) -> float:
        """Return the seconds of the all-reduces of an iteration."""
        return sum(network.all_reduce(ranks, size) for size in self.sizes)

    def rate(self, ranks: int, network: Network) -> float:
        """Return the decisions per second of all ranks."""
        return ranks * BATCH / (self.computing(ranks) + self.summing(ranks, network))


ASSUMPTIONS = (
    f"{TASK}, {NUM_ENVS} environments per rank; batch and minibatch grow with the ranks, so each has the same work",
    "every rank has one core, as fast as a core of this machine while two cores compute",
    "each part of an iteration takes as long as on the slowest rank; ranks differ as iterations at the same time do",
    "all-reduces do not overlap with computing; they run in a ring, and no two messages share a link",
    "GPUs would compute faster, with gradients of the same size",
)


def simulate(
    ranks: Sequence[int], network: Network, *, check: bool, seconds: float = 8.0, rounds: int = 7, progress: Progress
) -> Results:
    """Predict decisions per second and efficiency for several numbers of ranks.

    Args:
        ranks: Numbers of ranks.
        network: The cost of messages between them.
        check: Whether to compare the prediction for two ranks with two ranks on this machine.
        seconds: Seconds of each training.
        rounds: Number of alternating trainings of each kind.
        progress: Called with the current measurement.

    Returns:
        `costs` as measured, `rows` with one for each number of ranks, `assumptions`; with `check`, `predicted` and
        `measured` decisions/s of two ranks, and the ratios of both within each round.
    """
    sides: dict[str, Callable[[], Any]] = {"ranks that do not communicate": partial(_lone_ranks, seconds)}
    if check:
        sides["messages"] = _network_here
        sides["two ranks"] = partial(_pair_rate, seconds)
    lone, *checked = alternate(sides, rounds, progress).values()
    sizes = lone[0][0]["sizes"]
    noted = [np.array([parts for rank in found for parts in rank["seconds"]]) for found in lone]
    costs = Costs(noted, sizes)
    result: Results = {
        "costs": {
            "iteration": costs.computing(1),
            "iterations": sum(map(len, noted)),
            "sums": len(sizes),
            "gradients": max(sizes),
            "decisions_per_second": costs.rate(1, network),
        },
        "network": vars(network),
        "rows": [_row(costs, network, count) for count in ranks],
        "assumptions": list(ASSUMPTIONS),
    }
    if check:
        networks, measured = checked
        predicted = [Costs([parts], sizes).rate(CORES, here) for parts, here in zip(noted, networks, strict=True)]
        result["check"] = {
            "network": {name: median(getattr(here, name) for here in networks) for name in vars(network)},
            "predicted": summary_of(predicted),
            "measured": summary_of(measured),
            **ratios_of(predicted, measured),
        }
    return result


def _row(costs: Costs, network: Network, ranks: int) -> Results:
    computing, summing, alone = costs.computing(ranks), costs.summing(ranks, network), costs.computing(1)
    return {
        "ranks": ranks,
        "decisions_per_second": costs.rate(ranks, network),
        "efficiency": alone / (computing + summing),
        "waiting_share": (computing - alone) / (computing + summing),
        "sums_share": summing / (computing + summing),
    }


def _lone_ranks(seconds: float) -> list[Results]:
    """Train in one process per core at the same time; return the times that each has measured."""
    given = json.dumps([TASK, NUM_ENVS, seconds, SETTINGS | {"epochs": EPOCHS}])
    command = [sys.executable, "-P", "-m", "tests.benchmarks.lone_rank", given]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([*command, str(core)], **pipes) for core in measured_cores()]
    try:
        answers = [process.communicate(timeout=seconds + LIMIT) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for process, (_, errors) in zip(processes, answers, strict=True):
        if process.returncode:
            raise MeasurementFailed(f"a rank could not train: {last_line(errors)}")
    return [json.loads(answer) for answer, _ in answers]


def _pair_rate(seconds: float) -> float:
    return CORES * float(train(CORES, NUM_ENVS, seconds, *settings(CORES), cores=CORES)["sps"])


def _network_here() -> Network:
    """Return the cost of messages on this machine, from all-reduces of one number and of gradients."""
    torchrun = [sys.executable, "-P", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(CORES)]
    command = [*torchrun, "-m", "tests.benchmarks.collectives", TASK]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT)
    try:
        found: dict[str, float] = json.loads(done.stdout)
    except ValueError:
        raise MeasurementFailed(
            f"two processes could not measure their all-reduces: {last_line(done.stderr)}"
        ) from None
    return Network(found["small"] / 2, found["size"] / max(1e-9, found["gradients"] - found["small"]))
