"""Collects a rollout: the policy and the environments write into the same buffer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from ..nets.compute_threads import ComputeThreads
from ..trainer import Envs, Timer
from .final_values import FinalValues, ResidentFinalValues, final_values
from .policy import PpoPolicy
from .storage import RolloutStorage

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
        parts = split(buffer.rows, self.threads.size)

        @torch.inference_mode()
        def part(index: int) -> Tensor:
            rows = parts[index]
            logits, value = self.policy(observation[rows], mask[rows] if mask is not None else None)
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
    values = policy.value(observation)
    storage.values[storage.steps].copy_(values.masked_fill(storage.out(last), 0.0))
    return finals.values()


def split(rows: int, threads: int) -> list[slice]:
    """Return the rows of each thread; fewer threads where rows are few."""
    count = max(1, min(threads, rows // FEW_ROWS))
    size = math.ceil(rows / count)
    return [slice(lo, min(lo + size, rows)) for lo in range(0, rows, size)]
