"""Collects a rollout: the policy and the environments write into the same buffer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...envs.fields import FINAL_OBSERVATION, Array, Buffers
from ..nets.compute_threads import ComputeThreads
from ..trainer import Envs, Timer
from .policy import PpoPolicy
from .storage import RolloutStorage

LEAST_ROWS = 1_024
"""Last observations that the table has room for, if a step has fewer rows."""


class FinalValues:
    """Values of the last observations of a rollout's truncated episodes.

    The buffer has the last observations of one step, so those of truncated episodes are copied to a table after each
    step. They are evaluated in one batch at the end of the rollout, and before that only if the table is full.

    Args:
        policy: The policy that acts.
        storage: The rollout, T steps of R rows.
    """

    def __init__(self, policy: PpoPolicy, storage: RolloutStorage) -> None:
        self._policy, self._storage = policy, storage
        last = storage.buffer.arrays[FINAL_OBSERVATION]
        size = max(storage.buffer.rows, LEAST_ROWS)
        self._table: Array = np.empty((size, *last.shape[2:]), last.dtype)
        self._places: NDArray[np.int64] = np.empty((2, size), np.int64)
        self._count = 0
        self._values = torch.zeros_like(storage.logprobs)
        self._added: NDArray[np.bool_] = np.zeros(self._values.shape, np.bool_)

    def add(self, step: int) -> None:
        """Copy the last observations of the step that was just made."""
        slot = self._storage.first + step + 1
        arrays = self._storage.buffer.arrays
        if arrays["truncated"][slot].any():
            rows = np.flatnonzero(_truncated(arrays, slot))
            self._append(step, rows, arrays[FINAL_OBSERVATION][slot])

    def values(self) -> Tensor:
        """Return `(T, R)`: the value of the last observation where an episode was truncated, 0 elsewhere.

        An episode that a person took over was truncated after its step. Its last observation is that of the step.
        """
        storage = self._storage
        arrays, first = storage.buffer.arrays, storage.first + 1
        later = _truncated(arrays, slice(first, first + storage.steps)) & ~self._added
        for step in np.flatnonzero(later.any(axis=1)):
            self._append(int(step), np.flatnonzero(later[step]), arrays["observation"][first + step])
        self._evaluate()
        return self._values

    def _append(self, step: int, rows: NDArray[np.intp], observations: Array) -> None:
        if self._count + len(rows) > len(self._table):
            self._evaluate()
        new = slice(self._count, self._count + len(rows))
        self._table[new] = observations[rows]
        self._places[0, new], self._places[1, new] = step, rows
        self._added[step, rows] = True
        self._count += len(rows)

    def _evaluate(self) -> None:
        """Compute the values of what is in the table, and empty it."""
        count, self._count = self._count, 0
        if count:
            to_device = self._storage.buffer.to_device
            steps, rows = to_device(torch.from_numpy(self._places[:, :count]))
            memory = self._storage.memory[steps + 1, rows] if self._policy.memory else None
            self._values[steps, rows] = self._policy.value(to_device(torch.from_numpy(self._table[:count])), memory)


class ResidentFinalValues:
    """The same where the environments are on the policy's device, which keeps the last observations of all steps.

    The host reads nothing during a rollout. At its end it waits once, for the number of truncated episodes.
    """

    def __init__(self, policy: PpoPolicy, storage: RolloutStorage) -> None:
        self._policy, self._storage = policy, storage

    def add(self, step: int) -> None:
        """Do nothing: the device keeps the last observations."""

    def values(self) -> Tensor:
        """Return `(T, R)`, as `FinalValues.values` does."""
        storage, host = self._storage, self._storage.buffer.host
        written = slice(storage.first + 1, storage.first + 1 + storage.steps)
        found = torch.zeros_like(storage.logprobs)
        truncated = (host["truncated"][written] > 0) & (host["terminated"][written] == 0)
        steps, rows = truncated.nonzero(as_tuple=True)
        if len(steps):
            slots = written.start + steps
            ended = host["outcome"][slots, rows // storage.players] > 0  # else a person took the episode over
            last = host[FINAL_OBSERVATION][slots, rows]
            shape = (-1, *[1] * (last.dim() - 1))
            observations = torch.where(ended.view(shape), last, host["observation"][slots, rows])
            memory = storage.memory[steps + 1, rows] if self._policy.memory else None
            found[steps, rows] = self._policy.value(observations, memory)
        return found


def final_values(policy: PpoPolicy, storage: RolloutStorage) -> FinalValues | ResidentFinalValues:
    """Return what evaluates the last observations of a rollout."""
    return (ResidentFinalValues if storage.buffer.resident else FinalValues)(policy, storage)


def _truncated(arrays: Buffers, slots: int | slice) -> NDArray[np.bool_]:
    """Return which rows' episodes were truncated in some slots."""
    truncated: NDArray[np.bool_] = (arrays["truncated"][slots] > 0) & (arrays["terminated"][slots] == 0)
    return truncated


OnDecision: TypeAlias = Callable[[Tensor, Tensor], None]

FEW_ROWS = 16
"""Rows per thread below which another thread costs more, by waiting for the interpreter's lock, than it saves."""


@dataclass(frozen=True)
class Actor:
    """A policy that acts, with the rows of a step divided between threads."""

    policy: PpoPolicy
    threads: ComputeThreads

    def decide(self, storage: RolloutStorage, step: int, uniform: Tensor) -> Tensor:
        """Write the actions of a step into the buffer, values and log-probabilities into the storage.

        Return the policy's outputs `(R, ...)`.

        Args:
            step: The step of the rollout.
            uniform: `(rows, numbers)` random numbers in (0, 1], as the policy's distribution takes them.
        """
        buffer, slot = storage.buffer, storage.first + step
        observation, mask = buffer.load(slot)
        memory = storage.remembered(step) if self.policy.memory else None
        parts = split(buffer.rows, self.threads.size)

        @torch.inference_mode()
        def part(index: int) -> Tensor:
            rows = parts[index]
            masked = mask[rows] if mask is not None else None
            if memory is None:
                logits, value = self.policy(observation[rows], masked)
            else:
                logits, value, storage.memory[step + 1, rows] = self.policy.remember(
                    observation[rows], masked, memory[rows]
                )
            action, logprob = self.policy.distribution.sample(logits, uniform[rows])
            buffer.actions[slot, rows] = action
            storage.values[step, rows] = value
            storage.logprobs[step, rows] = logprob
            return torch.as_tensor(logits)

        logits = self.threads.run(part, range(len(parts)))
        return torch.cat(logits) if len(logits) > 1 else logits[0]


@torch.inference_mode()
def rollout(
    actor: Actor,
    envs: Envs,
    storage: RolloutStorage,
    uniform: Tensor,
    *,
    timer: Timer,
    on_decision: OnDecision,
) -> Tensor:
    """Step the environments T times.

    Afterwards `storage.values` holds T + 1 values and the buffer T transitions; observation t leads to reward t + 1.
    Return `(T, R)`: the value of the last observation where an episode was truncated, 0 elsewhere.

    Args:
        actor: Decides.
        envs: The environments.
        storage: Where to collect, T + 1 slots.
        uniform: `(T, rows, numbers)` random numbers in (0, 1], as the policy's distribution takes them.
        timer: Measures where the time goes.
        on_decision: Called with the policy's outputs and values of every step.
    """
    finals = final_values(actor.policy, storage)
    for step in range(storage.steps):
        on_decision(actor.decide(storage, step, uniform[step]), storage.values[step])
        storage.publish(step)
        timer.lap("inference")
        envs.advance(storage.first + step)
        finals.add(step)
    values_at_ends = values_after(actor.policy, storage, finals)
    timer.lap("inference")
    return values_at_ends


def values_after(policy: PpoPolicy, storage: RolloutStorage, finals: FinalValues | ResidentFinalValues) -> Tensor:
    """Write the values of the observations after the last step; return those of last observations, `(T, R)`."""
    last = storage.first + storage.steps
    observation, _ = storage.buffer.load(last)
    values = policy.value(observation, storage.remembered(storage.steps) if policy.memory else None)
    storage.values[storage.steps].copy_(values.masked_fill(storage.out(last), 0.0))
    return finals.values()


def split(rows: int, threads: int) -> list[slice]:
    """Return the rows of each thread; fewer threads where rows are few."""
    count = max(1, min(threads, rows // FEW_ROWS))
    size = math.ceil(rows / count)
    return [slice(lo, min(lo + size, rows)) for lo in range(0, rows, size)]
