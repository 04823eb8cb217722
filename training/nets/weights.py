"""Weights in memory and in checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

from ...envs import PacError
from .adam import Adam

POLICY, ADAM = "policy.", "adam."
"""What the names of a network's and of Adam's tensors begin with in a checkpoint."""

AnyModule = TypeVar("AnyModule", bound=nn.Module)


class WrongCheckpoint(PacError):
    """A checkpoint of another task or network."""

    title = "Checkpoint does not fit"


def placed(network: AnyModule, device: torch.device) -> AnyModule:
    """Move a network to a device. Convolutions get their channels last, which is fastest."""
    for parameter in network.parameters():
        if parameter.dim() == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return network.to(device)


def laid_out_like(parameter: Tensor, value: Tensor) -> Tensor:
    """Return `value` in a parameter's memory layout. The fused optimizer reads both in memory order."""
    return value if value.stride() == parameter.stride() else torch.empty_like(parameter).copy_(value)


def copied(tensor: Tensor) -> Tensor:
    """Return a contiguous copy on the CPU, outside the graph."""
    return tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)


def saved_tensors(network: nn.Module, adam: Adam | None = None) -> dict[str, Tensor]:
    """Return copies of the weights and of Adam's moments for a checkpoint, on the CPU."""
    tensors = {POLICY + name: value for name, value in network.state_dict().items()}
    if adam is not None:
        tensors |= {ADAM + name: value for name, value in adam.state().items()}
    return {name: copied(tensor) for name, tensor in tensors.items()}


def load_tensors(network: nn.Module, adam: Adam, tensors: Mapping[str, Tensor]) -> None:
    """Load what `saved_tensors` returned.

    Raises:
        WrongCheckpoint: They are tensors of another network.
    """
    load_weights(network, tensors, POLICY)
    adam.load_state({name.removeprefix(ADAM): value for name, value in tensors.items() if name.startswith(ADAM)})


def load_weights(network: nn.Module, tensors: Mapping[str, Tensor], prefix: str) -> None:
    """Load the weights among `tensors`, whose names begin with `prefix`, into a network.

    Raises:
        WrongCheckpoint: They are weights of another network.
    """
    weights = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
    own = network.state_dict()
    for name in sorted(own.keys() | weights.keys()):
        expected = tuple(own[name].shape) if name in own else "nothing"
        came = tuple(weights[name].shape) if name in weights else "nothing"
        if expected != came:
            raise WrongCheckpoint(
                f"{name} should be {expected} and is {came} in the checkpoint; "
                "use the task, the settings and the version of pac-tui of its training"
            )
    network.load_state_dict(weights)
