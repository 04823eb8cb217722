"""Finds NaN and infinity in the memory of a device."""

from __future__ import annotations

import torch

from ...envs import Task
from ..core.finite import NumberCheck
from .memory import DeviceMemory


class DeviceNumberCheck(NumberCheck):
    """Checks all rewards and floating-point observations of some slots at once, on the device."""

    def __init__(self, task: Task, memory: DeviceMemory) -> None:
        super().__init__(task)
        self._memory = memory
        self._names = [name for name in ("reward", "observation") if memory.tensors[name].is_floating_point()]

    def check_slots(self, written: slice) -> None:
        """Check the results in some slots; waits for them."""
        bad = [self._bad_rows(self._memory.tensors[name][written]) for name in self._names]
        found = torch.stack([each.any() for each in bad]).tolist()
        self._memory.transferred += len(found)
        for name, rows, one in zip(self._names, bad, found, strict=True):
            if one:
                self.count += 1
                self._found = name, int(rows.int().argmax())

    def _bad_rows(self, values: torch.Tensor) -> torch.Tensor:
        """Return `(rows,)`: whether a row of `(steps, rows, ...)` has a number that is not finite."""
        bad = ~torch.isfinite(values)
        return bad.flatten(2).any(dim=2).any(dim=0) if bad.dim() > 2 else bad.any(dim=0)
