"""The rollout as the policy's device sees it.

On the CPU every tensor is a view of the environments' buffer: what the environments write is what the learner reads.
On a GPU the stored, small form of each slot goes over once, from page-locked memory, and stays for the learner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...envs import Task
from ...envs.fields import DECIDES, OUT, Array, Buffers
from ..nets.action_scale import ActionScale

PER_STEP = ("observation", "action_mask")
PER_ROLLOUT = ("reward", "terminated", "truncated", "active", "frames")


@dataclass(frozen=True)
class RolloutData:
    """A finished rollout, on the policy's device; T steps of R rows, flattened to T x R but for the first three.

    Attributes:
        rewards: `(T, R)` float32.
        terminated: `(T, R)` bool.
        truncated: `(T, R)` bool, where not terminated.
        frames: `(T, R)` float32, frames that the decision took.
        active: `(T, R)` bool, rows that took a decision.
        values: `(T + 1, R)` float32.
        observations: `(T x R, *stored_shape)`.
        masks: `(T x R, bytes)`, or None.
        actions: `(T x R, ...)`, int64, or float32 as they were drawn.
        logprobs: `(T x R,)` float32.
    """

    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    frames: Tensor
    active: Tensor
    values: Tensor
    observations: Tensor
    masks: Tensor | None
    actions: Tensor
    logprobs: Tensor


class RolloutStorage:
    """The tensors of one rollout of T steps and R rows over a buffer of T + 1 slots.

    Attributes:
        steps: T.
        rows: R.
        values: `(T + 1, R)` float32.
        logprobs: `(T, R)` float32.
        scale: What continuous actions are counted in.
        logits: `(R, ...)`, the policy's outputs in the slot decided last; None before.
        decided: That slot.
    """

    def __init__(self, task: Task, buffer: Buffers, device: str) -> None:
        slots, rows = buffer["action"].shape[:2]
        self.steps, self.rows = slots - 1, rows
        self.players = task.players
        self._device = torch.device(device)
        self._masked = task.masked
        self._host = {
            name: torch.from_numpy(buffer[name])
            for name in ("action", "final_observation", *PER_STEP, *PER_ROLLOUT)
            if name in task_names(task)
        }
        self._pinned: list[Array] = []
        self._here = dict(self._host) if device == "cpu" else self._mirror(buffer)
        self.scale = ActionScale(task, self._device)
        if task.bounds:
            self._here["action"] = torch.empty_like(self._here["action"], device=self._device)
        self.values = torch.zeros(slots, rows, device=self._device)
        self.logprobs = torch.zeros(self.steps, rows, device=self._device)
        self.logits: Tensor | None = None
        self.decided = 0

    def _mirror(self, buffer: Buffers) -> dict[str, Tensor]:
        names = [name for name in ("action", *PER_STEP) if name in self._host]
        if self._device.type == "cuda":
            self._pinned = [buffer[name] for name in names if _register(buffer[name])]
        return {name: torch.empty_like(self._host[name], device=self._device) for name in names}

    def load(self, slot: int) -> tuple[Tensor, Tensor | None]:
        """Return the stored observations and masks of a slot, on the device."""
        for name in PER_STEP:
            if name in self._here and self._here[name] is not self._host[name]:
                self._here[name][slot].copy_(self._host[name][slot], non_blocking=True)
        return self._here["observation"][slot], self._here["action_mask"][slot] if self._masked else None

    @property
    def actions(self) -> Tensor:
        """Actions on the device, `(T + 1, R, ...)`, for the policy to write; continuous ones in its own `scale`."""
        return self._here["action"]

    def publish_actions(self, slot: int) -> None:
        """Put the actions of a slot where the environments read them; the one wait for the device in a step."""
        here, host = self._here["action"], self._host["action"]
        if here is not host:
            host[slot].copy_(self.scale.of_environment(here[slot]))

    def final_observations(self) -> tuple[Tensor, Tensor]:
        """Return where episodes were cut short, `(K, 2)` of step and row, and the last observations, on the device."""
        cut = (self._host["truncated"][1:] > 0) & (self._host["terminated"][1:] == 0)
        where = cut.nonzero()
        final = self._host["final_observation"][1:][where[:, 0], where[:, 1]]
        return where.to(self._device), final.to(self._device)

    def out(self, slot: int) -> Tensor:
        """Return which rows no reward follows for in this episode, `(R,)` bool, on the device."""
        return (self._host["active"][slot] == OUT).to(self._device)

    def experience(self) -> RolloutData:
        """Return the rollout for the learner. Copies little on a GPU and next to nothing on the CPU."""
        reward, terminated, truncated, active, frames = (self._host[name].to(self._device) for name in PER_ROLLOUT)
        ended = terminated[1:] > 0
        masks = self._here["action_mask"][:-1].flatten(0, 1) if self._masked else None
        return RolloutData(
            rewards=reward[1:],
            terminated=ended,
            truncated=(truncated[1:] > 0) & ~ended,
            frames=frames[1:].repeat_interleave(self.players, dim=1).float(),
            active=active[:-1] == DECIDES,
            values=self.values,
            observations=self._here["observation"][:-1].flatten(0, 1),
            masks=masks,
            actions=self._here["action"][:-1].flatten(0, 1),
            logprobs=self.logprobs.flatten(),
        )

    def close(self) -> None:
        """Let go of the buffer, before it is unmapped."""
        for array in self._pinned:
            _runtime().cudaHostUnregister(array.ctypes.data)
        self._pinned.clear()
        self._host.clear()
        self._here.clear()


def task_names(task: Task) -> frozenset[str]:
    """Names of the fields that a task has."""
    return frozenset(item.name for item in task.fields)


def _register(array: Array) -> bool:
    """Page-lock an array's memory, so that copies to the GPU need not wait; return whether that worked."""
    return int(_runtime().cudaHostRegister(array.ctypes.data, array.nbytes, 0)) == 0


def _runtime() -> Any:
    """The CUDA runtime that PyTorch loaded."""
    return torch.cuda.cudart()  # type: ignore[no-untyped-call]
