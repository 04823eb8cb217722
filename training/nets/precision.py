"""Layers that compute in the type of their inputs, whose weights stay float32.

In bfloat16, products and activations have 8 significant bits and the range of float32, so no loss needs scaling. Sums
within a product, weights, Adam's moments, losses and normalization are float32. With float32 inputs, these layers are
those of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

AUTO, FLOAT32, BFLOAT16 = "auto", "float32", "bfloat16"
CAPABLE = 8
"""Major number of the first compute capability of CUDA with products in bfloat16."""


def precision_on(precision: str, device: torch.device, *, large_images: bool = False) -> str:
    """Return the precision that a setting means on a device: that of `auto` is bfloat16 if the device multiplies in it.

    On a CPU, only the convolutions of large images are worth it; in other networks, rounding takes as long as it saves.
    """
    if precision != AUTO:
        return precision
    if device.type == "cuda":
        return BFLOAT16 if torch.cuda.get_device_capability(device)[0] >= CAPABLE else FLOAT32
    return BFLOAT16 if large_images and cpu_multiplies() else FLOAT32


def cpu_multiplies() -> bool:
    """Whether the CPU has instructions for products in bfloat16."""
    return any(getattr(torch.cpu, name, bool)() for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))


def dtype_on(precision: str, device: torch.device) -> torch.dtype:
    """Return the type of products and activations: bfloat16, or that of PyTorch's new tensors, which is float32."""
    return torch.bfloat16 if precision_on(precision, device) == BFLOAT16 else torch.get_default_dtype()


class Prepared(nn.Module):
    """A layer that computes something from its weights before it uses them.

    A rollout needs it many times for the same weights, so it is cached in inference mode. The fused gradient step
    changes weights without changing their version, so computing gradients clears the cache.
    """

    weight: Tensor
    _cached: tuple[object, Any] | None = None

    def prepared(self, prepare: Callable[[torch.dtype], Any], dtype: torch.dtype) -> Any:
        """Return what a method computes from the weights, for inputs of a type."""
        if not torch.is_inference_mode_enabled():
            self._cached = None
            return prepare(dtype)
        weight = next(self.parameters(recurse=False))
        state = weight.data_ptr(), weight._version, dtype, prepare.__name__  # noqa: SLF001
        cached = self._cached
        if cached is None or cached[0] != state:
            self._cached = cached = state, prepare(dtype)
        return cached[1]


def forget_prepared(network: nn.Module) -> None:
    """Clear what layers have computed from their weights, which have changed without Python's knowledge."""
    for layer in network.modules():
        if isinstance(layer, Prepared):
            layer._cached = None  # noqa: SLF001


class Linear(nn.Linear, Prepared):
    """A fully connected layer."""

    def rounded(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return weights and bias in a type."""
        return self.weight.to(dtype), self.bias.to(dtype)

    def parts(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return weights and bias for inputs of a type; in inference mode, they are computed once."""
        if dtype == self.weight.dtype:
            return self.weight, self.bias
        found: tuple[Tensor, Tensor] = self.prepared(self.rounded, dtype)
        return found

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs in the type of the inputs."""
        return functional.linear(x, *self.parts(x.dtype))


class Output(nn.Linear):
    """A fully connected layer that computes in float32: the last one, whose outputs are logits or values."""

    def forward(self, x: Tensor) -> Tensor:
        """Return float32 outputs."""
        return functional.linear(x.to(self.weight.dtype), self.weight, self.bias)


class Conv2d(nn.Conv2d, Prepared):
    """A convolution."""

    def rounded(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return weights and bias in a type."""
        assert self.bias is not None
        return self.weight.to(dtype), self.bias.to(dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs in the type of the inputs."""
        if x.dtype == self.weight.dtype:
            return super().forward(x)
        found: Tensor = self._conv_forward(x, *self.prepared(self.rounded, x.dtype))
        return found


class GRUCell(nn.GRUCell, Prepared):
    """A recurrent layer. What it remembers is float32: small changes of many steps would be lost in bfloat16."""

    def rounded(self, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """Return weights and biases in a type."""
        return tuple(each.to(dtype) for each in (self.weight_ih, self.bias_ih, self.weight_hh, self.bias_hh))

    def forward(self, x: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return what is remembered, float32, after inputs in any type."""
        if x.dtype == self.weight_ih.dtype:
            return super().forward(x, hx)
        assert hx is not None
        weight_ih, bias_ih, weight_hh, bias_hh = self.prepared(self.rounded, x.dtype)
        reset, update, new = functional.linear(x, weight_ih, bias_ih).float().chunk(3, 1)
        reset_before, update_before, before = functional.linear(hx.to(x.dtype), weight_hh, bias_hh).float().chunk(3, 1)
        new = (new + (reset + reset_before).sigmoid() * before).tanh()
        return torch.lerp(new, hx, (update + update_before).sigmoid())
