"""Weights in memory and in checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from ...envs import PacError

BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-5


class Adam:
    """Adam (Kingma and Ba, 2015) over the parameters of a network, with PyTorch's kernels.

    Args:
        epsilon: Added to the root of the second moments.
        fused: Whether to use the fused kernel, which the CPU and CUDA have.

    Attributes:
        parameters: The parameters, in the order of their gradients.
    """

    def __init__(
        self, network: nn.Module, *, learning_rate: float = 0.0, epsilon: float = EPSILON, fused: bool = True
    ) -> None:
        self._epsilon, self._fused = epsilon, fused
        self._names = [name for name, _ in network.named_parameters()]
        self.parameters: list[Tensor] = list(network.parameters())
        # The kernel reads a tensor, so that a captured step gets the present rate. CUDA's needs float32.
        device = self.parameters[0].device
        self._rate = torch.zeros((), device=device, dtype=torch.float64 if device.type == "cpu" else torch.float32)
        self.learning_rate = learning_rate
        self._moments = {
            "step": [torch.zeros((), device=each.device if fused else "cpu") for each in self.parameters],
            "exp_avg": [torch.zeros_like(each) for each in self.parameters],
            "exp_avg_sq": [torch.zeros_like(each) for each in self.parameters],
        }

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next steps."""
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._learning_rate = rate
        self._rate.fill_(rate)

    @torch.no_grad()
    def step(self, gradients: list[Tensor]) -> None:
        """Take a step. Each gradient must have the memory layout of its parameter."""
        if self._fused:
            self._fused_step(gradients)
            return
        adam(
            self.parameters,
            gradients,
            self._moments["exp_avg"],
            self._moments["exp_avg_sq"],
            [],
            self._moments["step"],
            fused=False,
            amsgrad=False,
            beta1=BETA_1,
            beta2=BETA_2,
            lr=self.learning_rate,
            weight_decay=0.0,
            eps=self._epsilon,
            maximize=False,
        )

    def _fused_step(self, gradients: list[Tensor]) -> None:
        """Call the kernel as `adam` does, which takes several times as long to group a small network's tensors."""
        steps = self._moments["step"]
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            self.parameters,
            gradients,
            self._moments["exp_avg"],
            self._moments["exp_avg_sq"],
            [],
            steps,
            amsgrad=False,
            lr=self._rate,
            beta1=BETA_1,
            beta2=BETA_2,
            weight_decay=0.0,
            eps=self._epsilon,
            maximize=False,
            grad_scale=None,
            found_inf=None,
        )

    def state(self) -> dict[str, Tensor]:
        """Return the moments and the number of steps, named `parameter.key`."""
        return {
            f"{name}.{key}": value
            for key, values in self._moments.items()
            for name, value in zip(self._names, values, strict=True)
        }

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; what is missing becomes 0."""
        for key, values in self._moments.items():
            for name, value in zip(self._names, values, strict=True):
                value.copy_(tensors.get(f"{name}.{key}", torch.zeros(())))


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
