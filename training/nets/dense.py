"""Fully connected layers with rectifiers between them, and their gradient, without autograd.

For small networks, autograd and its bookkeeping take as long as the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor, nn

Product: TypeAlias = Callable[[Tensor, Tensor, Tensor | None, bool], Tensor]
"""Maps x `(B, I)`, weight `(O, I)`, bias `(O,)` and whether to rectify to x @ weight.t() + bias `(B, O)`."""


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None, rectified: bool = False) -> Tensor:
    """Return `x @ weight.t() + bias` by PyTorch's usual library."""
    values = x @ weight.t() if bias is None else torch.addmm(bias, x, weight.t())
    return values.relu_() if rectified else values


def onednn_product(x: Tensor, weight: Tensor, bias: Tensor | None = None, rectified: bool = False) -> Tensor:
    """Return `x @ weight.t() + bias` by oneDNN, as code that PyTorch compiles does.

    PyTorch's usual library, MKL, takes twice as long on processors of AMD.
    """
    after = "relu" if rectified else "none"
    values: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, after, [], "")  # noqa: SLF001 - as torch does
    return values


def product_on(device: torch.device) -> Product:
    """Return the product that is fastest on a device, for layers of some hundred units."""
    known = device.type == "cpu" and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return onednn_product if known and hasattr(torch.ops.mkldnn, "_linear_pointwise") else product


class DenseLayers:
    """The arithmetic of layers that belong to a module.

    Args:
        layers: The layers, of which all but the last one are rectified.
        product: Multiplies matrices.
    """

    def __init__(self, layers: Sequence[nn.Linear], product: Product = product) -> None:
        self._layers = [(layer.weight, layer.bias) for layer in layers]
        self._product = product

    def __call__(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the outputs `(B, O)` of `(B, I)`, and the inputs of all layers, for `gradients`."""
        inputs: list[Tensor] = []
        for weight, bias in self._layers:
            inputs.append(x)
            x = self._product(x, weight, bias, len(inputs) < len(self._layers))
        return x, inputs

    def gradients(self, slopes: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Return the gradient of each parameter, in their order: weight and bias of each layer.

        Args:
            slopes: The gradient of the outputs, `(B, O)`.
            inputs: The inputs of all layers.
        """
        found: list[Tensor] = []
        for (weight, _), before in zip(reversed(self._layers), reversed(inputs), strict=True):
            found += [slopes.sum(0), self._product(slopes.t(), before.t(), None, False)]
            if before is not inputs[0]:
                slopes = self._before(slopes, weight, before)
        return found[::-1]

    def slopes(self, slopes: Tensor, inputs: Sequence[Tensor]) -> Tensor:
        """Return the gradient of the first layer's inputs, `(B, I)`; the arguments are those of `gradients`."""
        for (weight, _), before in zip(reversed(self._layers[1:]), reversed(inputs[1:]), strict=True):
            slopes = self._before(slopes, weight, before)
        return self._product(slopes, self._layers[0][0].t(), None, False)

    def _before(self, slopes: Tensor, weight: Tensor, values: Tensor) -> Tensor:
        """Return the gradient of what a rectifier got, whose `values` a layer's `weight` multiplies."""
        of_values = self._product(slopes, weight.t(), None, False)
        found: Tensor = torch.ops.aten.threshold_backward(of_values, values, 0.0)
        return found
