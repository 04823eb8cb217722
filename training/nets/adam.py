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
        fused: Whether to use the fused kernel, which the CPU and CUDA have.

    Attributes:
        learning_rate: The learning rate of the next steps.
        parameters: The parameters, in the order of their gradients.
    """

    def __init__(self, network: nn.Module, *, learning_rate: float = 0.0, fused: bool = True) -> None:
        self.learning_rate = learning_rate
        self._fused = fused
        self._names = [name for name, _ in network.named_parameters()]
        self.parameters: list[Tensor] = list(network.parameters())
        self._moments = {
            "step": [torch.zeros((), device=each.device if fused else "cpu") for each in self.parameters],
            "exp_avg": [torch.zeros_like(each) for each in self.parameters],
            "exp_avg_sq": [torch.zeros_like(each) for each in self.parameters],
        }

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
            eps=EPSILON,
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
            lr=self.learning_rate,
            beta1=BETA_1,
            beta2=BETA_2,
            weight_decay=0.0,
            eps=EPSILON,
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
