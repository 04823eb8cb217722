"""What a checkpoint of PPO holds, as tensors by name."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ...envs import PacError
from .adam import Adam
from .policy import Policy

POLICY = "policy."
ADAM = "adam."


class WrongCheckpoint(PacError):
    """A checkpoint of another task or network."""

    title = "Checkpoint does not fit"


def save_tensors(policy: Policy, adam: Adam) -> dict[str, Tensor]:
    """Return copies of the weights and of Adam's moments, on the CPU."""
    tensors = {POLICY + name: value for name, value in policy.state_dict().items()}
    tensors |= {ADAM + name: value for name, value in adam.state().items()}
    return {name: copied(tensor) for name, tensor in tensors.items()}


def copied(tensor: Tensor) -> Tensor:
    """Return a contiguous copy on the CPU, outside the graph."""
    return tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)


def load_policy(policy: Policy, tensors: Mapping[str, Tensor]) -> None:
    """Give the policy the weights among `tensors`.

    Raises:
        WrongCheckpoint: They are those of another network.
    """
    weights = {name.removeprefix(POLICY): value for name, value in tensors.items() if name.startswith(POLICY)}
    own = policy.state_dict()
    for name in sorted(own.keys() | weights.keys()):
        expected = tuple(own[name].shape) if name in own else "nothing"
        came = tuple(weights[name].shape) if name in weights else "nothing"
        if expected != came:
            raise WrongCheckpoint(
                f"{name} should be {expected} and is {came} in the checkpoint; "
                "use the task and the settings that it was trained with"
            )
    policy.load_state_dict(weights)


def load_adam(adam: Adam, tensors: Mapping[str, Tensor]) -> None:
    """Give the optimiser its moments among `tensors`, after `load_policy` found that they fit."""
    adam.load_state({name.removeprefix(ADAM): value for name, value in tensors.items() if name.startswith(ADAM)})
