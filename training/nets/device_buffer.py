"""The environments' buffer as the policy's device sees it: observations and masks to the device, actions back.

On the CPU every tensor is a view of the buffer: what the environments write is what the learner reads. So it is on a
GPU if the environments are there, too. Otherwise the observations and masks of each slot are copied to the GPU once, as
they are stored, from page-locked memory, and stay there.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...envs import Task
from ...envs.actions import scale_of
from ...envs.fields import Array, Buffers

INPUTS = ("observation", "action_mask")


class ActionScale:
    """Converts continuous actions between the policy's unit, with bounds -1 and 1, and the environment's."""

    def __init__(self, task: Task, device: torch.device) -> None:
        self._scale = tuple(torch.from_numpy(part).to(device) for part in scale_of(task)) if task.bounds else ()

    def of_environment(self, action: Tensor) -> Tensor:
        """Return actions `(..., K)` in the environment's unit; other kinds unchanged."""
        return torch.addcmul(self._scale[0], self._scale[1], action) if self._scale else action

    def of_policy(self, action: Tensor) -> Tensor:
        """Return continuous actions `(..., K)` in the policy's unit; 0 where the bounds are equal."""
        centre, reach = self._scale
        return (action - centre) / reach.where(reach > 0, 1)

    def reach(self, deviation: Tensor) -> Tensor:
        """Return standard deviations `(..., K)` of a continuous action in the environment's unit."""
        return self._scale[1] * deviation


class DeviceBuffer:
    """Observations, masks and actions of all slots on the policy's device.

    Attributes:
        arrays: The environments' memory. The host reads these, because it would have to wait for tensors on a GPU.
        host: The fields that a learner reads, as tensors over the environments' memory, by name. They are on the device
            if the environments are.
        resident: Whether the environments are on the device, so that nothing is copied.
        rows: Number of rows R.
        device: The policy's device.
        scale: The unit of continuous actions on the device.
    """

    def __init__(self, task: Task, buffer: Buffers, device: torch.device) -> None:
        self.device, self.rows = device, buffer["action"].shape[1]
        self.scale = ActionScale(task, device)
        self.arrays: Buffers = buffer
        tensors: dict[str, Tensor] | None = getattr(buffer, "tensors", None)
        self.resident = tensors is not None
        timed = [item.name for item in task.fields if item.timed]
        self.host = {name: torch.from_numpy(buffer[name]) if tensors is None else tensors[name] for name in timed}
        self._masked = task.masked
        self._pinned: list[Array] = []
        names = [name for name in ("action", *INPUTS) if name in self.host]
        self._here = {name: self.host[name] for name in names}
        if device.type != "cpu" and not self.resident:
            self._here = {name: torch.empty_like(self.host[name], device=device) for name in names}
        elif task.bounds:
            self._here["action"] = torch.empty_like(self.host["action"])
        if device.type == "cuda" and not self.resident:
            self._pinned = [buffer[name] for name in names if _page_lock(buffer[name])]

    def load(self, slot: int) -> tuple[Tensor, Tensor | None]:
        """Return the stored observations and masks of a slot, on the device."""
        for name in INPUTS:
            if name in self._here and self._here[name] is not self.host[name]:
                self._here[name][slot].copy_(self.host[name][slot], non_blocking=True)
        return self.observations[slot], self._here["action_mask"][slot] if self._masked else None

    def begins(self, slot: int) -> Tensor:
        """Return in which rows the observation of a slot begins another episode, `(R,)` bool, on the device."""
        return self.to_device((self.host["terminated"][slot] + self.host["truncated"][slot]) > 0)

    def to_device(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the host on the device, without waiting for the device."""
        pinned = tensor.pin_memory() if self.device.type == "cuda" and tensor.device.type == "cpu" else tensor
        return pinned.to(self.device, non_blocking=True)

    @property
    def observations(self) -> Tensor:
        """Stored observations `(slots, R, ...)` on the device, of slots that were loaded."""
        return self._here["observation"]

    @property
    def masks(self) -> Tensor | None:
        """Stored masks `(slots, R, bytes)` on the device, of slots that were loaded; None if every action is legal."""
        return self._here["action_mask"] if self._masked else None

    @property
    def actions(self) -> Tensor:
        """Actions `(slots, R, ...)` on the device, for the policy to write; continuous ones in the unit of `scale`."""
        return self._here["action"]

    def publish_actions(self, slot: int) -> None:
        """Write the actions of a slot where the environments read them.

        It is the one wait for the device in a step, and nothing to do where the environments are on the device.
        """
        here, host = self._here["action"], self.host["action"]
        if here is not host:
            host[slot].copy_(self.scale.of_environment(here[slot]))

    def close(self) -> None:
        """Release the environments' memory, before it is unmapped."""
        for array in self._pinned:
            _runtime().cudaHostUnregister(array.ctypes.data)
        self._pinned.clear()
        self.arrays = {}
        self.host.clear()
        self._here.clear()


def _page_lock(array: Array) -> bool:
    """Page-lock an array's memory, so that copies to the GPU are asynchronous; return whether that worked."""
    return int(_runtime().cudaHostRegister(array.ctypes.data, array.nbytes, 0)) == 0


def _runtime() -> Any:
    return torch.cuda.cudart()  # type: ignore[no-untyped-call]
