"""The tensors of one rollout, on the policy's device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...envs import Task
from ...envs.fields import DECIDES, OUT
from ...envs.slots import Span, rollout_spans
from ..nets.device_buffer import DeviceBuffer

RESULTS = ("reward", "terminated", "truncated", "frames")


@dataclass(frozen=True)
class RolloutData:
    """A finished rollout on the policy's device: T steps of R rows, flattened to T x R except where T is given.

    Attributes:
        rewards: `(T, R)` float32.
        terminated: `(T, R)` bool, also where a life was lost, see `Task.value_ends`.
        truncated: `(T, R)` bool, where not terminated.
        frames: `(T, R)` float32, frames that the decision took.
        active: `(T, R)` bool, rows that took a decision.
        out: `(T, R)` bool, rows that were eliminated before the step.
        values: `(T + 1, R)` float32.
        observations: `(T x R, *stored_shape)`.
        masks: `(T x R, bytes)`, or None.
        actions: `(T x R, ...)`, int64, or float32 in the unit of the policy.
        logprobs: `(T x R,)` float32.
        memory: `(T + 1, R, memory)`, see `RolloutStorage`.
        begins: `(T + 1, R)` bool.
    """

    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    frames: Tensor
    active: Tensor
    out: Tensor
    values: Tensor
    observations: Tensor
    masks: Tensor | None
    actions: Tensor
    logprobs: Tensor
    memory: Tensor
    begins: Tensor


class SlotValues:
    """The value estimates of all slots of a buffer, on the device and on the host.

    Attributes:
        here: `(slots, R)` float32 on the policy's device.
        host: The same on the host, of slots that were published; on the device if the environments are `resident`.
        resident: Whether the environments are on the policy's device.
    """

    def __init__(self, slots: int, rows: int, device: torch.device, *, resident: bool = False) -> None:
        self.resident = resident
        self.here = self.host = torch.zeros(slots, rows, device=device)
        if device.type != "cpu" and not resident:
            self.host = torch.zeros(slots, rows, pin_memory=device.type == "cuda")

    def publish(self, slot: int) -> None:
        """Begin to copy a slot to the host."""
        if self.host is not self.here:
            self.host[slot].copy_(self.here[slot], non_blocking=True)


class RolloutStorage:
    """The tensors of one rollout of T steps and R rows over T + 1 slots of a buffer.

    Args:
        span: The slots of the rollout's steps; default all slots of the buffer.
        values: The values of all slots of the buffer; default new ones.

    Attributes:
        players: Seats of an environment.
        first: The first slot.
        steps: T.
        values: `(T + 1, R)` float32.
        logprobs: `(T, R)` float32.
        memory: `(T + 1, R, memory)`: what a recurrent policy remembers after the step before; without one, of no width.
        begins: `(T + 1, R)` bool, where an episode begins with the step, and nothing is remembered.
    """

    def __init__(
        self,
        task: Task,
        buffer: DeviceBuffer,
        span: Span | None = None,
        values: SlotValues | None = None,
        *,
        memory: int = 0,
    ) -> None:
        slots, device = len(buffer.actions), buffer.device
        self._span = span = span or rollout_spans(slots)[0]
        self._slot_values = values = values or SlotValues(slots, buffer.rows, device)
        self.buffer, self.players, self._value_ends = buffer, task.players, task.value_ends
        self.first, self.steps = span.acted.start, span.steps
        self.values = values.here[self.first : span.written.stop]
        self.logprobs = torch.zeros(self.steps, buffer.rows, device=device)
        self.memory = torch.zeros(self.steps + 1, buffer.rows, memory, device=device)
        self.begins = torch.zeros(self.steps + 1, buffer.rows, dtype=torch.bool, device=device)

    def publish(self, step: int) -> None:
        """Write the actions of a step where the environments read them, and its values where viewers do.

        This is the one wait for the device in a step: what the device computed before the actions is there with them.
        Where the environments are on the device, there is nothing to copy.
        """
        self._slot_values.publish(self.first + step)
        self.buffer.publish_actions(self.first + step)

    def remembered(self, step: int) -> Tensor:
        """Return what is remembered before a step, `(R, memory)`, and note in which rows it begins an episode."""
        self.begins[step] = self.buffer.begins(self.first + step)
        return self.memory[step].masked_fill(self.begins[step].unsqueeze(1), 0.0)

    def out(self, slot: int) -> Tensor:
        """Return which rows get no more rewards in this episode, `(R,)` bool, on the device."""
        return self.buffer.to_device(self.buffer.host["active"][slot] == OUT)

    def data(self) -> RolloutData:
        """Return the rollout for the learner. Copies little on a GPU and next to nothing on the CPU."""
        buffer, acted, written = self.buffer, self._span.acted, self._span.written
        reward, terminated, truncated, frames = (buffer.host[name][written].to(buffer.device) for name in RESULTS)
        acting, ended = buffer.host["active"][acted].to(buffer.device), terminated > 0
        if self._value_ends:
            ended |= buffer.host[self._value_ends][written].to(buffer.device) > 0
        return RolloutData(
            rewards=reward,
            terminated=ended,
            truncated=(truncated > 0) & ~ended,
            frames=frames.repeat_interleave(self.players, dim=1).float(),
            active=acting == DECIDES,
            out=acting == OUT,
            values=self.values,
            observations=buffer.observations[acted].flatten(0, 1),
            masks=buffer.masks[acted].flatten(0, 1) if buffer.masks is not None else None,
            actions=buffer.actions[acted].flatten(0, 1),
            logprobs=self.logprobs.flatten(),
            memory=self.memory,
            begins=self.begins,
        )
