"""What a checkpoint of PPO holds, as tensors by name."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ...envs import PacError
from .policy import Policy, laid_out_like

POLICY = "policy."
ADAM = "adam."


class WrongCheckpoint(PacError):
    """A checkpoint of another task or network."""

    title = "Checkpoint does not fit"


def save_tensors(policy: Policy, adam: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return copies of the weights and of Adam's moments, on the CPU."""
    tensors = {POLICY + name: value for name, value in policy.state_dict().items()}
    names = [name for name, _ in policy.named_parameters()]
    for index, moments in adam.state_dict()["state"].items():
        tensors |= {f"{ADAM}{names[index]}.{key}": torch.as_tensor(value) for key, value in moments.items()}
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


def load_adam(adam: torch.optim.Optimizer, policy: Policy, tensors: Mapping[str, Tensor]) -> None:
    """Give the optimiser its moments among `tensors`, after `load_policy` found that they fit."""
    state: dict[int, dict[str, Tensor]] = {}
    for index, (name, parameter) in enumerate(policy.named_parameters()):
        prefix = f"{ADAM}{name}."
        moments = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
        if moments:
            state[index] = {
                key: laid_out_like(parameter, value.clone()) if value.shape == parameter.shape else value.clone()
                for key, value in moments.items()
            }
    adam.load_state_dict(adam.state_dict() | {"state": state})
