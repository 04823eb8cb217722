"""The first layer over boards: convolutions along rows and columns, with uniform planes as scalars."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...envs import Field
from .decoding import image_shape
from .precision import Prepared


@dataclass
class BoardVariant:
    """How boards are computed on GPUs, for benchmarks that compare ways with the same results.

    Attributes:
        everywhere: Whether the CPU computes as a GPU does, to test and measure it there.
        bits: Whether packed boards become lines without planes of floats between.
        joined: Whether the outputs of both directions are joined for the layer after; else that layer multiplies each
            of them and adds.
        wide_sums: Whether gradients of biases are sums over rows of several cells.
    """

    everywhere: bool = False
    bits: bool = True
    joined: bool = True
    wide_sums: bool = False


VARIANT = BoardVariant()


def by_products(tensor: Tensor) -> bool:
    """Return whether layers over boards are products of matrices, as on a GPU."""
    return VARIANT.everywhere or tensor.is_cuda


WIDE = 1_024
"""Numbers in a row of sums for the gradient of a bias, at most."""


def rectified_product(inputs: Tensor, weights: Tensor, bias: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return `relu(inputs @ weights + bias)` in some shape.

    Args:
        inputs: `(rows, inputs)`.
        weights: `(inputs, outputs)`.
        bias: `(outputs,)`.
        shape: The shape of the result.
    """
    if by_products(inputs):
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
        return before, inputs.t() @ products, sum_of_rows(products), None


def sum_of_rows(numbers: Tensor) -> Tensor:
    """Return the sum over the rows `(rows, outputs)`, in float32 until it is rounded."""
    rows, outputs = numbers.shape
    folded = math.gcd(rows, WIDE // outputs) if VARIANT.wide_sums and outputs <= WIDE else 1
    sums = numbers.view(rows // folded, -1).sum(0, dtype=torch.float32)
    return sums.view(folded, outputs).sum(0).to(numbers.dtype)


REACH = 4
"""Cells in each direction: enough to see that a pill completes a line of four."""


class LineConvolution(nn.Conv2d, Prepared):
    """A convolution along a line, up to `REACH` cells to both sides, which takes uniform planes as scalars.

    A uniform plane adds its value times the sum of the weights inside the board.

    Args:
        planes: Number of planes, including uniform ones.
        channels: Outputs per cell.
        length: Cells of a line.
        axis: The axis of `(rows, H, W)` that the line runs along: 1 for columns, 2 for rows.
        uniform: The uniform planes, `lo..hi`.
    """

    taps: Tensor

    def __init__(self, planes: int, channels: int, length: int, axis: int, uniform: tuple[int, int]) -> None:
        size = 2 * REACH + 1
        kernel, padding = ((size, 1), (REACH, 0)) if axis == 1 else ((1, size), (0, REACH))
        super().__init__(planes, channels, kernel, padding=padding)
        self.length, self.across, self.uniform = length, 3 - axis, uniform
        cell = torch.arange(length)
        offset = cell.unsqueeze(1) - cell + REACH  # of the first cell from the second, `(length, length)`
        taps = torch.arange(size).view(size, 1, 1) == offset
        self.register_buffer("taps", taps.float(), persistent=False)

    def forward(self, varying: Tensor, values: Tensor) -> Tensor:  # type: ignore[override]
        """Return `(rows, H, W, channels)` of the varying planes and the uniform planes' values `(rows, hi - lo)`."""
        kernel, bias, sums = self.prepared(self.split, varying.dtype)
        cells = functional.conv2d(varying, kernel, bias, padding=self.padding).permute(0, 2, 3, 1)
        if sums is None:
            return cells
        added = functional.linear(values, sums).view(len(values), self.length, -1)
        return cells + added.unsqueeze(self.across)

    def product(self, lines: Tensor, values: Tensor) -> Tensor:
        """Return the rectified outputs `(rows, lines, length, channels)` as one matrix product with whole lines.

        Args:
            lines: The varying planes of each line, `(rows, lines, planes, length)`.
            values: Those of the uniform planes, `(rows, hi - lo)`.
        """
        return self._product(lines.shape, lambda into: into.copy_(lines), values)

    def product_of_bits(self, tested: Tensor, worth: Tensor, values: Tensor) -> Tensor:
        """Return the same of bits.

        Args:
            tested: `(rows, lines, planes, length)` uint8, 0 where a plane is 0.
            worth: What to multiply them by, in the type to compute in.
            values: Those of the uniform planes, `(rows, hi - lo)`.
        """
        return self._product(tested.shape, lambda into: torch.mul(tested, worth, out=into), values)

    def _product(self, shape: torch.Size, write: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
        matrix, bias = self.prepared(self.matrix, values.dtype)
        count = shape[2] * self.length
        inputs = values.new_empty(*shape[:2], len(matrix))
        write(inputs[..., :count].view(shape))
        inputs[..., count:] = values.unsqueeze(1)
        return rectified_product(inputs.flatten(0, 1), matrix, bias, (*shape[:2], self.length, self.out_channels))

    def split(self, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the kernel of the varying planes, the bias, and what each uniform plane adds to cells of a line."""
        kernel, sums = self._split()
        assert self.bias is not None
        return kernel.to(dtype), self.bias.to(dtype), None if sums is None else sums.to(dtype)

    def matrix(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return the matrix `(planes x length + hi - lo, length x channels)` of the convolution, and its bias."""
        kernel, sums = self._split()
        bands = torch.tensordot(kernel.flatten(2), self.taps, 1)  # (channels, planes, length before, length after)
        matrix = bands.permute(1, 2, 3, 0).flatten(2).flatten(0, 1)
        assert self.bias is not None
        bias = self.bias.repeat(self.length)
        return (matrix if sums is None else torch.cat((matrix, sums.t()))).to(dtype), bias.to(dtype)

    def _split(self) -> tuple[Tensor, Tensor | None]:
        lo, hi = self.uniform
        if lo == hi:
            return self.weight, None
        weights = self.weight[:, lo:hi].flatten(0, 1).flatten(1)
        return without(self.weight, lo, hi), functional.linear(self.taps.sum(1).t(), weights).view(-1, hi - lo)


def without(planes: Tensor, lo: int, hi: int) -> Tensor:
    """Return the planes without `lo..hi` of the second axis; a view if the others are adjacent."""
    if lo < hi == planes.shape[1]:
        return planes[:, :lo]
    return torch.cat((planes[:, :lo], planes[:, hi:]), 1) if lo < hi else planes


class CrossConvolution(nn.Module):
    """Convolutions along each cell's row and column, each with half of the channels.

    For the cost of a 3x3 convolution it sees whole lines. In `drmario` it learns twice as fast as that.
    """

    places: Tensor
    worths: Tensor

    def __init__(self, observation: Field, channels: int) -> None:
        super().__init__()
        count, height, width = image_shape(observation)
        self.uniform, self.shape = observation.uniform, (count, height, width // 8)
        self.packed = observation.encoding == "bits" and len(observation.shape) == 3 and width % 8 == 0
        places = torch.tensor([1 << bit for bit in range(8)], dtype=torch.uint8)
        self.register_buffer("places", places, persistent=False)
        self.register_buffer("worths", 1.0 / places, persistent=False)
        self.column = LineConvolution(count, channels - channels // 2, height, 1, self.uniform)
        self.row = LineConvolution(count, channels // 2, width, 2, self.uniform)

    def forward(self, board: Tensor) -> Tensor:
        """Return `(rows, H, W, channels)` of `(rows, planes, H, W)`."""
        if by_products(board):
            return joined(*self.products(board))
        lo, hi = self.uniform
        varying = without(board, lo, hi).contiguous(memory_format=torch.channels_last)
        values = board[:, lo:hi, 0, 0]
        return functional.relu(torch.cat((self.column(varying, values), self.row(varying, values)), 3), inplace=True)

    def products(self, board: Tensor) -> tuple[Tensor, Tensor]:
        """Return the halves of what `forward` does, those of columns `(rows, W, H, ...)`, by a matrix product for each.

        It multiplies by many zeros, in TF32 on a GPU's tensor cores, which cuDNN does not use for the gradients of
        convolutions with so few planes. On an H200, updates of PPO took two thirds of the time; on CPUs it is slower.
        """
        lo, hi = self.uniform
        varying, values = without(board, lo, hi), board[:, lo:hi, 0, 0]
        columns = self.column.product(varying.permute(0, 3, 1, 2), values)
        return columns, self.row.product(varying.permute(0, 2, 1, 3), values)

    def products_of_bits(self, stored: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return the same of packed boards: the bits of a line are written where the product reads them.

        Args:
            stored: `(rows, bytes)`, where a byte is 8 cells of a row.
            dtype: The type to compute in.
        """
        planes = stored.view(-1, *self.shape)  # (rows, planes, H, W / 8)
        lo, hi = self.uniform
        varying, values = without(planes, lo, hi), (planes[:, lo:hi, 0, 0] & 1).to(dtype)
        worths, cells = self.worths.to(dtype), self.shape[2] * 8
        tested = varying.unsqueeze(-1) & self.places  # (rows, planes, H, W / 8, 8)
        across = tested.flatten(3).permute(0, 3, 1, 2)
        down = tested.flatten(3).transpose(1, 2)
        of_columns = worths.repeat(cells // 8).view(cells, 1, 1)
        columns = self.column.product_of_bits(across, of_columns, values)
        return columns, self.row.product_of_bits(down, of_columns.view(cells), values)


def joined(columns: Tensor, rows: Tensor) -> Tensor:
    """Return the outputs of both directions, `(rows, H, W, channels)`."""
    return torch.cat((columns.transpose(1, 2), rows), 3)


def product_of_halves(columns: Tensor, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return `relu(joined(columns, rows) @ weight.t() + bias)` `(rows x H x W, outputs)`, by two products that add."""
    size = columns.shape[3]
    of_rows = torch.addmm(bias, rows.flatten(0, 2), weight[:, size:].t())
    of_columns = columns.flatten(0, 2) @ weight[:, :size].t()
    turned = of_columns.view(*columns.shape[:3], -1).transpose(1, 2)
    return functional.relu(of_rows.view(turned.shape) + turned, inplace=True).flatten(0, 2)
