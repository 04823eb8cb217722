"""Collects a rollout: the policy acts, the environments answer, into memory that both share."""

from __future__ import annotations

import torch
from torch import Tensor

from ..trainer import Envs, Timer
from .distribution import log_probability, sample
from .policy import Policy
from .storage import Storage


@torch.inference_mode()
def rollout(policy: Policy, envs: Envs, storage: Storage, generator: torch.Generator, timer: Timer) -> Tensor:
    """Step the environments once per slot but the last; return the last step's masked logits `(R, num_actions)`.

    Afterwards `storage.values` holds T + 1 values and the buffer T transitions; observation t leads to reward t + 1.
    """
    logits = torch.empty(0)
    for slot in range(storage.steps):
        observation, mask = storage.load(slot)
        logits, value = policy(observation, mask)
        action = sample(logits, generator)
        storage.act(slot, action)
        storage.values[slot].copy_(value)
        storage.logprobs[slot].copy_(log_probability(logits, action))
        timer.lap("inference")
        envs.advance(slot)
    observation, _ = storage.load(storage.steps)
    storage.values[storage.steps].copy_(policy.value(observation))
    timer.lap("inference")
    return logits


@torch.inference_mode()
def final_values(policy: Policy, storage: Storage) -> Tensor:
    """Return `(T, R)`: the value of the last observation of every episode that was cut short, 0 elsewhere."""
    values = torch.zeros_like(storage.logprobs)
    where, observations = storage.final_observations()
    if len(where):
        values[where[:, 0], where[:, 1]] = policy.value(observations)
    return values
