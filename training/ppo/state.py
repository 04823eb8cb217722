"""What a checkpoint of PPO holds, as tensors by name."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ..nets.adam import Adam
from ..nets.weights import copied, load_weights
from .policy import Policy

POLICY = "policy."
ADAM = "adam."


def save_tensors(policy: Policy, adam: Adam) -> dict[str, Tensor]:
    """Return copies of the weights and of Adam's moments, on the CPU."""
    tensors = {POLICY + name: value for name, value in policy.state_dict().items()}
    tensors |= {ADAM + name: value for name, value in adam.state().items()}
    return {name: copied(tensor) for name, tensor in tensors.items()}


def load_policy(policy: Policy, tensors: Mapping[str, Tensor]) -> None:
    """Give the policy the weights among `tensors`.

    Raises:
        WrongCheckpoint: They are those of another network.
    """
    load_weights(policy, tensors, POLICY)


def load_adam(adam: Adam, tensors: Mapping[str, Tensor]) -> None:
    """Give the optimiser its moments among `tensors`, after `load_policy` found that they fit."""
    adam.load_state({name.removeprefix(ADAM): value for name, value in tensors.items() if name.startswith(ADAM)})
