"""A linear layer and its rectifier, which a GPU computes as one kernel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def rectified_product(inputs: Tensor, weights: Tensor, bias: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return `relu(inputs @ weights + bias)` in some shape.

    Args:
        inputs: `(rows, inputs)`.
        weights: `(inputs, outputs)`.
        bias: `(outputs,)`.
        shape: The shape of the result.
    """
    if inputs.is_cuda:
        return RectifiedProduct.apply(inputs, weights, bias, shape)  # type: ignore[no-any-return, no-untyped-call]
    return functional.relu(torch.addmm(bias, inputs, weights), inplace=True).view(shape)


class RectifiedProduct(torch.autograd.Function):
    """The product as one kernel, and its gradients: PyTorch has no derivative of that kernel."""

    @staticmethod
    def forward(context: Any, inputs: Tensor, weights: Tensor, bias: Tensor, shape: tuple[int, ...]) -> Tensor:
        outputs = torch._addmm_activation(bias, inputs, weights).view(shape)  # noqa: SLF001
        context.save_for_backward(inputs, weights, outputs)
        return outputs

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        """Return the gradients of inputs, weights and bias."""
        inputs, weights, outputs = context.saved_tensors
        # In the layout of the outputs: the gradient of a part of concatenated outputs is not contiguous.
        products = torch.ops.aten.threshold_backward(gradient, outputs, 0).reshape(len(inputs), -1)
        before = products @ weights.t() if context.needs_input_grad[0] else None
        return before, inputs.t() @ products, products.sum(0), None
