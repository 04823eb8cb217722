"""The scale of continuous actions."""

from __future__ import annotations

import torch
from torch import Tensor

from ...envs import Task
from ...envs.actions import scale_of


class ActionScale:
    """Converts continuous actions between the policy's unit, with bounds -1 and 1, and the environment's."""

    def __init__(self, task: Task, device: torch.device) -> None:
        self._scale = tuple(torch.from_numpy(part).to(device) for part in scale_of(task)) if task.bounds else ()

    def of_environment(self, action: Tensor) -> Tensor:
        """Return actions `(..., K)` in the environment's unit; other kinds unchanged."""
        return torch.addcmul(self._scale[0], self._scale[1], action) if self._scale else action

    def reach(self, deviation: Tensor) -> Tensor:
        """Return standard deviations `(..., K)` of a continuous action in the environment's unit."""
        return self._scale[1] * deviation
