"""Threads that compute parts of a batch side by side.

PyTorch itself splits each operation over its threads, which synchronize after every one. On a CPU whose cores other
processes also use, they then wait for each other some hundred times per gradient step: one busy neighbour makes a step
2 to 40 times slower. Here each thread computes some rows from beginning to end, and the threads synchronize once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from ...backends import usable_cores

Part = TypeVar("Part")
Result = TypeVar("Result")


class ComputeThreads:
    """A number of threads, including the calling one.

    Args:
        device: Where the network is. Threads are only used on the CPU.
        threads: How many. 0 is one per usable core.
    """

    def __init__(self, device: torch.device, threads: int) -> None:
        cores = threads or usable_cores()
        self.size = cores if device.type == "cpu" else 1
        torch.set_num_threads(1 if device.type == "cpu" else cores)
        if device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TF32, in which PyTorch convolves on GPUs by default
        self._others = ThreadPoolExecutor(max(1, self.size - 1), thread_name_prefix="learner")

    def run(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """Return `function` of every part, in order. Thread i computes the parts i, i + size, i + 2 x size, ..."""
        shares = [parts[first :: self.size] for first in range(min(self.size, len(parts)))]
        pending = [self._others.submit(_each, function, share) for share in shares[1:]]
        results = [_each(function, shares[0]), *(future.result() for future in pending)]
        return [results[index % self.size][index // self.size] for index in range(len(parts))]


def _each(function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    return [function(part) for part in parts]
