"""Ranks as threads of one process, which add what they hold at a barrier: as torch.distributed would do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import torch
from torch import Tensor

from pac.training.ranks import Ranks

Result = TypeVar("Result")
Value = TypeVar("Value")

TIMEOUT = 60.0  # s


class ThreadRanks(Ranks):
    """One of `size` threads. `values` and `barrier` are common to all of them."""

    def __init__(self, rank: int, values: list[Any], barrier: Barrier) -> None:
        self.rank, self.size = rank, len(values)
        self._values, self._barrier = values, barrier

    def _gather(self, value: Any) -> list[Any]:
        self._values[self.rank] = value
        self._barrier.wait(TIMEOUT)
        found = list(self._values)
        self._barrier.wait(TIMEOUT)
        return found

    def add(self, tensors: Sequence[Tensor]) -> None:
        everybodys = self._gather([tensor.clone() for tensor in tensors])
        for index, tensor in enumerate(tensors):
            tensor.copy_(torch.stack([own[index] for own in everybodys]).sum(0))

    def totals(self, numbers: Sequence[int]) -> list[int]:
        return [sum(column) for column in zip(*self._gather(list(numbers)), strict=True)]

    def maximum(self, number: int, waiting: Callable[[], None] = lambda: None) -> int:  # noqa: ARG002
        return int(max(self._gather(number)))

    def from_writer(self, value: Value) -> Value:
        found: Value = self._gather(value)[0]
        return found


def on_ranks(size: int, function: Callable[[Ranks], Result]) -> list[Result]:
    """Return `function` of every rank, each called in a thread of its own; raises what the first rank raises."""
    values, barrier = [None] * size, Barrier(size)
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(lambda rank: function(ThreadRanks(rank, values, barrier)), range(size)))
