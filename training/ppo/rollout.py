"""Collects a rollout: the policy acts, the environments answer, into memory that both share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..nets.compute_threads import ComputeThreads
from ..trainer import Envs, Timer
from .policy import Policy
from .storage import RolloutStorage

FEW_ROWS = 16
"""Rows per thread below which threads lose more by waiting for the interpreter's lock than they gain."""


@dataclass(frozen=True)
class Actor:
    """What decides.

    Attributes:
        policy: The network.
        threads: Shares the rows of a step.
    """

    policy: Policy
    threads: ComputeThreads

    def decide(self, storage: RolloutStorage, slot: int, uniform: Tensor) -> None:
        """Write the actions of a slot into the storage, with values, log-probabilities and outputs.

        Args:
            storage: The rollout.
            slot: The slot.
            uniform: `(rows, numbers)` random numbers in (0, 1], as the policy's distribution takes them.
        """
        observation, mask = storage.load(slot)
        parts = split(storage.rows, self.threads.size)

        @torch.inference_mode()
        def part(index: int) -> Tensor:
            rows = parts[index]
            logits, value = self.policy(observation[rows], mask[rows] if mask is not None else None)
            action, logprob = self.policy.distribution.sample(logits, uniform[rows])
            storage.actions[slot, rows] = action
            storage.values[slot, rows] = value
            storage.logprobs[slot, rows] = logprob
            return torch.as_tensor(logits)

        logits = self.threads.run(part, range(len(parts)))
        storage.logits = torch.cat(logits) if len(logits) > 1 else logits[0]
        storage.decided = slot


@torch.inference_mode()
def rollout(actor: Actor, envs: Envs, storage: RolloutStorage, uniform: Tensor, timer: Timer) -> None:
    """Step the environments T times.

    Afterwards `storage.values` holds T + 1 values and the buffer T transitions; observation t leads to reward t + 1.

    Args:
        actor: Decides.
        envs: The environments.
        storage: Where to collect, T + 1 slots.
        uniform: `(T, rows, numbers)` random numbers in (0, 1], as the policy's distribution takes them.
        timer: Measures where the time goes.
    """
    for slot in range(storage.steps):
        actor.decide(storage, slot, uniform[slot])
        storage.publish_actions(slot)
        timer.lap("inference")
        envs.advance(slot)
    observation, _ = storage.load(storage.steps)
    values = actor.policy.value(observation)
    storage.values[storage.steps].copy_(values.masked_fill(storage.out(storage.steps), 0.0))
    timer.lap("inference")


def split(rows: int, threads: int) -> list[slice]:
    """Return the rows of each thread; fewer threads where rows are few."""
    count = max(1, min(threads, rows // FEW_ROWS))
    size = math.ceil(rows / count)
    return [slice(lo, min(lo + size, rows)) for lo in range(0, rows, size)]


@torch.inference_mode()
def final_values(policy: Policy, storage: RolloutStorage) -> Tensor:
    """Return `(T, R)`: the value of the last observation of every episode that was cut short, 0 elsewhere."""
    values = torch.zeros_like(storage.logprobs)
    where, observations = storage.final_observations()
    if len(where):
        values[where[:, 0], where[:, 1]] = policy.value(observations)
    return values
