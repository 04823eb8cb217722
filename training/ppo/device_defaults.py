"""The settings of PPO that follow from the device where nobody has chosen them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ...envs import Task
from ..device import TrainingPlace
from ..nets.precision import precision_on
from ..nets.torsos import is_large_image
from .policy import PpoPolicy
from .settings import PpoSettings

SHARE = 4
"""A gradient step gets one part in so many of the free memory; the rest is for environments and their rollout."""
BESIDE = 3
"""How many times the activations that are kept for the gradient a gradient step has in memory, with gradients and
copies. On an H200, a decision of `drmario` took 177 KB in float32, of which 82 KB are kept."""
ROWS = 4


def device_defaults(
    task: Task, settings: Mapping[str, Any], given: frozenset[str], place: TrainingPlace
) -> dict[str, Any]:
    """Return settings that differ from `settings`, because the device decides them.

    On a GPU that has the environments, an update has about as many gradient steps as keep it busy, if the memory is
    large enough for such minibatches. Passes stay those of the task, which decide how often a decision is learned from.

    Args:
        settings: All settings.
        given: The names of those that somebody has chosen.
        place: Where it will train.
    """
    where = torch.device(place.device)
    found: dict[str, Any] = {}
    chosen = PpoSettings.read("ppo", settings)
    precision = precision_on(chosen.precision, where, large_images=is_large_image(task.observation))
    if precision != chosen.precision:
        found["precision"] = precision
    if where.type == "cuda" and place.resident and not given & {"batch", "minibatch"}:
        free = torch.cuda.mem_get_info(where)[0]
        needed = bytes_per_decision(task, chosen, getattr(torch, precision))
        found |= chosen.for_gpu(place.rows, free // SHARE // needed)
    return found


def bytes_per_decision(task: Task, settings: PpoSettings, dtype: torch.dtype) -> int:
    """Return about how many bytes a gradient step needs for each decision."""
    policy = PpoPolicy(task, settings, torch.Generator().manual_seed(0), dtype)
    few, more = (_kept(policy, task, rows) for rows in (ROWS, 2 * ROWS))
    return max(1, BESIDE * (more - few) // ROWS)


def _kept(policy: PpoPolicy, task: Task, rows: int) -> int:
    """Return the bytes that are kept for the gradient of some rows, with those of weights."""
    kept: dict[int, Tensor] = {}

    def note(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor  # which is not freed, so no other one gets its address
        return tensor

    stored = torch.zeros(rows, *task.observation.stored_shape, dtype=getattr(torch, task.observation.dtype))
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        if policy.memory:
            policy.remember(stored, None, torch.zeros(rows, policy.memory))
        else:
            policy(stored, None)
    return sum(each.untyped_storage().nbytes() for each in kept.values())
