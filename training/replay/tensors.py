"""Batches of transitions as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...envs.fields import Array
from .batches import Transitions


@dataclass(frozen=True)
class TransitionTensors:
    """A batch of B transitions on the policy's device. `masks` belong to the observations that follow."""

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    discounts: Tensor
    following: Tensor
    masks: Tensor | None

    @classmethod
    def of(cls, batch: Transitions, device: torch.device) -> TransitionTensors:
        """Return a batch as tensors; on the CPU without a copy. Frames that two stacks share are copied once."""

        def tensor(array: Array) -> Tensor:
            return torch.from_numpy(array).to(device)

        if batch.frames is None:
            before, after = tensor(batch.observations), tensor(batch.following)
        else:
            frames, depth = tensor(batch.frames), batch.observations.shape[1]
            before, after = frames[:, :depth], frames[:, -depth:]
        return cls(
            observations=before,
            actions=tensor(batch.actions),
            rewards=tensor(batch.rewards),
            discounts=tensor(batch.discounts),
            following=after,
            masks=None if batch.masks is None else tensor(batch.masks),
        )
