"""The optimizer. `torch.optim.Adam` would load PyTorch's compiler, which takes as long as PyTorch itself."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-5


class Adam:
    """Adam (Kingma and Ba, 2015) over the parameters of a network, with PyTorch's kernels.

    Args:
        network: The network.
        fused: Whether to use the fused kernel, which the CPU and CUDA have.

    Attributes:
        learning_rate: The learning rate of the next steps.
    """

    def __init__(self, network: nn.Module, *, learning_rate: float = 0.0, fused: bool = True) -> None:
        self.learning_rate = learning_rate
        self._fused = fused
        self._names = [name for name, _ in network.named_parameters()]
        self._parameters: list[Tensor] = list(network.parameters())
        self._moments = {
            "step": [torch.zeros((), device=each.device if fused else "cpu") for each in self._parameters],
            "exp_avg": [torch.zeros_like(each) for each in self._parameters],
            "exp_avg_sq": [torch.zeros_like(each) for each in self._parameters],
        }

    @torch.no_grad()
    def step(self) -> None:
        """Take a step. Each gradient must have the memory layout of its parameter."""
        adam(
            self._parameters,
            [torch.as_tensor(each.grad) for each in self._parameters],
            self._moments["exp_avg"],
            self._moments["exp_avg_sq"],
            [],
            self._moments["step"],
            fused=self._fused,
            amsgrad=False,
            beta1=BETA_1,
            beta2=BETA_2,
            lr=self.learning_rate,
            weight_decay=0.0,
            eps=EPSILON,
            maximize=False,
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
