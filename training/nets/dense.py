"""Fully connected layers with rectifiers or tanh between them, and their gradient, without autograd.

For small networks, autograd and its bookkeeping take as long as the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor, nn

Product: TypeAlias = Callable[[Tensor, Tensor, Tensor | None, str], Tensor]
"""Maps x `(B, I)`, weight `(O, I)`, bias `(O,)` and what follows, such as `TANH`, to x @ weight.t() + bias."""
NONE, RELU, TANH = "none", "relu", "tanh"
SMALL = 1 << 20
"""Multiplications of a product for which oneDNN takes longer to begin than MKL takes in all."""
FEW = 1 << 12
"""Outputs for which the same holds with their tanh."""
AFTER: Mapping[str, Callable[[Tensor], Tensor]] = {NONE: lambda x: x, RELU: torch.relu_, TANH: torch.tanh_}


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None, after: str = NONE) -> Tensor:
    """Return `x @ weight.t() + bias` by PyTorch's usual library."""
    return AFTER[after](x @ weight.t() if bias is None else torch.addmm(bias, x, weight.t()))


def onednn_product(x: Tensor, weight: Tensor, bias: Tensor | None = None, after: str = NONE) -> Tensor:
    """Return `x @ weight.t() + bias` by oneDNN, as code that PyTorch compiles does.

    PyTorch's usual library, MKL, takes twice as long for large products on processors of AMD, and PyTorch's tanh four
    times as long.
    """
    values: Tensor = torch.ops.mkldnn._linear_pointwise(  # noqa: SLF001 - as torch does
        _dense(x), _dense(weight), bias, after, [], ""
    )
    return values


def _dense(matrix: Tensor) -> Tensor:
    """Return a matrix without gaps between its rows or columns, for which oneDNN takes a thousand times as long."""
    return matrix if matrix.is_contiguous() or matrix.t().is_contiguous() else matrix.contiguous()


def cpu_product(x: Tensor, weight: Tensor, bias: Tensor | None = None, after: str = NONE) -> Tensor:
    """Return `x @ weight.t() + bias` by the library that is faster for its size."""
    small = len(x) * len(weight) < FEW if after == TANH else x.numel() * len(weight) < SMALL
    return (product if small else onednn_product)(x, weight, bias, after)


def product_on(device: torch.device) -> Product:
    """Return the product that is fastest on a device, for float32 layers of some hundred units."""
    known = device.type == "cpu" and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return cpu_product if known and hasattr(torch.ops.mkldnn, "_linear_pointwise") else product


class DenseLayers:
    """The arithmetic of layers that belong to a module.

    Args:
        layers: The layers.
        product: Multiplies matrices.
        after: What follows all layers but the last one: `RELU` or `TANH`.
    """

    def __init__(self, layers: Sequence[nn.Linear], product: Product = product, after: str = RELU) -> None:
        self._layers = [(layer.weight, layer.bias) for layer in layers]
        self._product, self._after = product, after

    def __call__(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the outputs `(B, O)` of `(B, I)`, and the inputs of all layers, for `gradients`."""
        inputs: list[Tensor] = []
        for weight, bias in self._layers:
            inputs.append(x)
            x = self._product(x, weight, bias, self._after if len(inputs) < len(self._layers) else NONE)
        return x, inputs

    def gradients(self, slopes: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Return the gradient of each parameter, in their order: weight and bias of each layer.

        Args:
            slopes: The gradient of the outputs, `(B, O)`.
            inputs: The inputs of all layers.
        """
        found: list[Tensor] = []
        for (weight, _), before in zip(reversed(self._layers), reversed(inputs), strict=True):
            found += [slopes.sum(0), self._product(slopes.t(), before.t(), None, NONE)]
            if before is not inputs[0]:
                slopes = self._before(slopes, weight, before)
        return found[::-1]

    def slopes(self, slopes: Tensor, inputs: Sequence[Tensor]) -> Tensor:
        """Return the gradient of the first layer's inputs, `(B, I)`; the arguments are those of `gradients`."""
        for (weight, _), before in zip(reversed(self._layers[1:]), reversed(inputs[1:]), strict=True):
            slopes = self._before(slopes, weight, before)
        return self._product(slopes, self._layers[0][0].t(), None, NONE)

    def _before(self, slopes: Tensor, weight: Tensor, values: Tensor) -> Tensor:
        """Return the gradient of the outputs of a layer from that of the next one's.

        Args:
            slopes: The gradient of the next layer's outputs.
            weight: That of the next layer.
            values: What it multiplies: the outputs after the rectifier or tanh.
        """
        of_values = self._product(slopes, weight.t(), None, NONE)
        found: Tensor = (
            torch.ops.aten.threshold_backward(of_values, values, 0.0)
            if self._after == RELU
            else torch.ops.aten.tanh_backward(of_values, values)
        )
        return found
