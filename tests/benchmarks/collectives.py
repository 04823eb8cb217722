"""One of two processes that measure all-reduces: prints the bytes of gradients, and seconds per call.

As in a training, a process has its share of the cores, and its caches contain other data before each all-reduce.
torchrun starts it, with the task as its argument.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from statistics import median

import torch

from pac.backends.system.cores import share_cores
from pac.envs import find
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.settings import PpoSettings
from pac.training.torchrun import join_ranks, local_rank

CALLS, WARM = 200, 20
CACHES = 8 << 20
"""Bytes that are written before each all-reduce."""


def main() -> None:
    """Measure, and print JSON on rank 0."""
    ranks, task = join_ranks(), find(sys.argv[1])
    share_cores(local_rank(), ranks.size)
    policy = PpoPolicy(task, PpoSettings.for_task(task, {}), torch.Generator())
    gradients = [torch.zeros_like(parameter) for parameter in policy.parameters()]
    other = torch.zeros(CACHES, dtype=torch.uint8)

    def seconds(collective: Callable[[], object]) -> float:
        """Return the median time of a call, including the writes before it."""
        times = []
        for _ in range(CALLS):
            begun = time.perf_counter()
            other.add_(1)
            collective()
            times.append(time.perf_counter() - begun)
        return median(times[WARM:])

    alone = seconds(lambda: None)
    found = {
        "small": seconds(lambda: ranks.maximum(0)) - alone,
        "gradients": seconds(lambda: ranks.add(gradients)) - alone,
        "size": sum(tensor.numel() * tensor.element_size() for tensor in gradients),
    }
    if ranks.is_writer:
        sys.stdout.write(json.dumps(found))
    ranks.leave()


if __name__ == "__main__":
    main()
