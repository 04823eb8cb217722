"""A model of training in many processes: what ranks would give, from costs that are measured on this machine.

pac-tui bench cluster --simulate
pac-tui bench cluster --simulate --check
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ...envs import find
from ..ppo.settings import PpoSettings
from .facts import Figures, Progress
from .measured_process import MeasurementFailed
from .ranks import EPOCHS, NUM_ENVS, SETTINGS, TASK, settings, train

BATCH, MINIBATCH = SETTINGS["batch"], SETTINGS["minibatch"]
PARAMETER_BYTES = 4
LIMIT = 120.0


@dataclass(frozen=True)
class Network:
    """What a message between two processes costs.

    Attributes:
        latency: Seconds of a message without data.
        bandwidth: Bytes per second.
    """

    latency: float
    bandwidth: float

    def all_reduce(self, ranks: int, size: float) -> float:
        """Return the seconds of a sum of `size` bytes in a ring: 2 (R - 1) messages of `size` / R bytes each."""
        return 2 * (ranks - 1) * (self.latency + size / ranks / self.bandwidth)


@dataclass(frozen=True)
class Costs:
    """The costs of one rank alone on one core.

    Attributes:
        iteration: Seconds of an iteration.
        steps: Steps of an iteration, before each of which the ranks agree.
        updates: Gradient steps of an iteration.
        gradients: Bytes of the gradients.
    """

    iteration: float
    steps: int
    updates: int
    gradients: int

    def seconds(self, ranks: int, small: float, gradients: float) -> float:
        """Return the seconds of an iteration of `ranks`, given those of a small sum and of one of the gradients."""
        return self.iteration if ranks == 1 else self.iteration + self.steps * small + self.updates * gradients

    def rate(self, ranks: int, small: float, gradients: float) -> float:
        """Return the decisions per second of all ranks."""
        return ranks * self.steps * NUM_ENVS / self.seconds(ranks, small, gradients)


ASSUMPTIONS = (
    f"{TASK}, {NUM_ENVS} environments per rank; batch and minibatch grow with the ranks, so each has the same work",
    "every rank is as fast as one rank alone on one core of this machine, and all take equally long",
    "nothing of the sums overlaps with computing; sums run in a ring, and no two messages share a link",
    "one core per rank; GPUs would be faster, and their gradients as large",
)


def simulate(
    ranks: Sequence[int], network: Network, *, check: bool, seconds: float = 15.0, rounds: int = 3, progress: Progress
) -> Figures:
    """Compute what ranks would give.

    Args:
        ranks: Numbers of ranks.
        network: What messages between them cost.
        check: Whether to compare the prediction for two ranks with two ranks on this machine.
        seconds: Seconds of each training.
        rounds: Trainings of each kind.
        progress: Called with the current measurement.

    Returns:
        `costs` as measured here, a row for each number of ranks, the assumptions; with `check`, `predicted` and
        `measured` decisions/s of two ranks, and `error`, by how much the prediction is wrong.
    """
    reports, pairs = [], []
    for number in range(rounds):
        progress("one rank on one core", number / rounds)
        reports.append(train(1, NUM_ENVS, seconds, *settings(1), one_core=True))
        if check:
            progress("two ranks on two cores", (number + 0.5) / rounds)
            pairs.append(2 * train(2, NUM_ENVS, seconds, *settings(2), one_core=False)["sps"])
    rate, steps = median(report["sps"] for report in reports), BATCH // NUM_ENVS
    costs = Costs(BATCH / rate, steps, EPOCHS * BATCH // MINIBATCH, _gradient_bytes())
    result: Figures = {
        "costs": {**vars(costs), "decisions_per_second": rate},
        "network": vars(network),
        "rows": [_row(costs, network, count) for count in ranks],
        "assumptions": list(ASSUMPTIONS),
    }
    if check:
        here = _collectives(costs.gradients)
        predicted, measured = costs.rate(2, here["small"], here["gradients"]), median(pairs)
        result["check"] = {
            "collectives": here,
            "predicted": predicted,
            "measured": measured,
            "error": predicted / measured - 1,
        }
    return result


def _gradient_bytes() -> int:
    import torch

    from ..ppo.policy import PpoPolicy

    task = find(TASK)
    policy = PpoPolicy(task, PpoSettings.for_task(task, {}), torch.Generator())
    return PARAMETER_BYTES * sum(parameter.numel() for parameter in policy.parameters())


def _row(costs: Costs, network: Network, ranks: int) -> Figures:
    small, gradients = network.all_reduce(ranks, 8), network.all_reduce(ranks, costs.gradients)
    rate = costs.rate(ranks, small, gradients)
    return {
        "ranks": ranks,
        "decisions_per_second": rate,
        "efficiency": rate / ranks / costs.rate(1, 0.0, 0.0),
        "agreeing_share": costs.steps * small / costs.seconds(ranks, small, gradients),
        "gradients_share": costs.updates * gradients / costs.seconds(ranks, small, gradients),
    }


def _collectives(size: int) -> dict[str, float]:
    """Return the seconds of the sums of two processes on this machine."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, "-m", "pac.training.bench.collectives", str(size)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT)
    try:
        found: dict[str, float] = json.loads(done.stdout)
    except ValueError:
        raise MeasurementFailed(f"two processes could not measure their sums: {done.stderr[-200:]}") from None
    return found
