"""Weights in memory and in checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

from ...envs import PacError

AnyModule = TypeVar("AnyModule", bound=nn.Module)


class WrongCheckpoint(PacError):
    """A checkpoint of another task or network."""

    title = "Checkpoint does not fit"


def placed(network: AnyModule, device: torch.device) -> AnyModule:
    """Move a network to a device, convolutions with their channels last, which is how they run fastest."""
    for parameter in network.parameters():
        if parameter.dim() == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return network.to(device)


def laid_out_like(parameter: Tensor, value: Tensor) -> Tensor:
    """Return `value` in a parameter's memory layout: the fused optimiser walks through both side by side."""
    return value if value.stride() == parameter.stride() else torch.empty_like(parameter).copy_(value)


def copied(tensor: Tensor) -> Tensor:
    """Return a contiguous copy on the CPU, outside the graph."""
    return tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)


def load_weights(network: nn.Module, tensors: Mapping[str, Tensor], prefix: str) -> None:
    """Give a network the weights among `tensors`, whose names begin with `prefix`.

    Raises:
        WrongCheckpoint: They are those of another network.
    """
    weights = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
    own = network.state_dict()
    for name in sorted(own.keys() | weights.keys()):
        expected = tuple(own[name].shape) if name in own else "nothing"
        came = tuple(weights[name].shape) if name in weights else "nothing"
        if expected != came:
            raise WrongCheckpoint(
                f"{name} should be {expected} and is {came} in the checkpoint; "
                "use the task and the settings that it was trained with"
            )
    network.load_state_dict(weights)
