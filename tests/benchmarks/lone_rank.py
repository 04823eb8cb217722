"""A rank that trains alone, and measures how long it computes before each all-reduce that several ranks would need.

Prints as JSON what `train` returns. Started with JSON of its arguments, and with the core to run on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from pac.backends.workers.shm import ShmBackend
from pac.envs import find
from pac.training.device import keep_memory
from pac.training.lone_training import LoneTraining
from pac.training.ranks import SingleRank
from pac.training.trainer import BufferSpec, Context, Timer
from pac.training.trainers import build_trainer, trainer_settings

WARM = 2
"""Number of first iterations that are not measured."""
NUMBER = 8
"""Bytes of a number that ranks agree on."""


class NotedRanks(SingleRank):
    """A single rank that records when it would wait for others.

    Attributes:
        seconds: How long it computed before each all-reduce, since the list was cleared.
        sizes: The bytes of each all-reduce.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.sizes: list[int] = []
        self._last = time.perf_counter()

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Note a sum."""
        self._note(sum(tensor.numel() * tensor.element_size() for tensor in tensors))

    def totals(self, numbers: Sequence[int]) -> list[int]:
        """Note a sum."""
        self._note(NUMBER * len(numbers))
        return super().totals(numbers)

    def maximum(self, number: int, waiting: Callable[[], None] = lambda: None) -> int:
        """Record an all-reduce."""
        self._note(NUMBER)
        return super().maximum(number, waiting)

    def _note(self, size: int) -> None:
        now = time.perf_counter()
        self.seconds.append(now - self._last)
        self.sizes.append(size)
        self._last = now


class AgreeingEnvs(ShmBackend):
    """Environments of a rank. All ranks agree before each step.

    Attributes:
        ranks: The ranks.
    """

    ranks: NotedRanks

    def advance(self, slot: int) -> None:
        """Agree, and step all environments."""
        self.ranks.maximum(0)
        super().advance(slot)


def train(task: str, num_envs: int, seconds: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Train with PPO on one core; return the `seconds` before each all-reduce, by iteration, and their `sizes`."""
    keep_memory()
    found, ranks = find(task), NotedRanks()

    def made(num_envs: int, spec: BufferSpec) -> AgreeingEnvs:
        envs = AgreeingEnvs(found, num_envs, workers=1, **spec.options)
        envs.ranks = ranks
        return envs

    chosen = trainer_settings("ppo", found, {**settings, "threads": 1})
    trainer = build_trainer("ppo", Context(found, chosen, "cpu", 0, Timer(), ranks=ranks))
    owner = LoneTraining(trainer, made)
    owner.open(num_envs)
    noted: list[list[float]] = []
    sizes: list[int] = []
    try:
        for _ in range(WARM):
            trainer.iterate()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ranks.seconds, ranks.sizes = [], []
            trainer.iterate()
            ranks.any(False)  # whether to stop
            noted.append(ranks.seconds)
            sizes = ranks.sizes
    finally:
        owner.close()
    return {"seconds": noted, "sizes": sizes}


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[2])})
    sys.stdout.write(json.dumps(train(*json.loads(sys.argv[1]))))
