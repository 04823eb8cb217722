"""The first layer over boards: convolutions along rows and columns, with uniform planes as scalars."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...envs import Field
from .decoding import image_shape

REACH = 4
"""Cells in each direction: enough to see that a pill completes a line of four."""


class LineConvolution(nn.Conv2d):
    """A convolution along a line, up to `REACH` cells to both sides, which takes uniform planes as scalars.

    A uniform plane adds its value times the sum of the weights inside the board.

    Args:
        planes: Number of planes, including uniform ones.
        channels: Outputs per cell.
        length: Cells of a line.
        axis: The axis of `(rows, H, W)` that the line runs along: 1 for columns, 2 for rows.
        uniform: The uniform planes, `lo..hi`.
    """

    inside: Tensor

    def __init__(self, planes: int, channels: int, length: int, axis: int, uniform: tuple[int, int]) -> None:
        size = 2 * REACH + 1
        kernel, padding = ((size, 1), (REACH, 0)) if axis == 1 else ((1, size), (0, REACH))
        super().__init__(planes, channels, kernel, padding=padding)
        self.across, self.uniform = 3 - axis, uniform
        self._cached: tuple[tuple[int, int], tuple[Tensor, Tensor | None]] | None = None
        seen = torch.arange(length).unsqueeze(1) + torch.arange(-REACH, REACH + 1)
        self.register_buffer("inside", ((seen >= 0) & (seen < length)).float(), persistent=False)

    def forward(self, varying: Tensor, values: Tensor) -> Tensor:  # type: ignore[override]
        """Return `(rows, H, W, channels)` of the varying planes and the uniform planes' values `(rows, hi - lo)`."""
        kernel, sums = self._parts()
        cells = functional.conv2d(varying, kernel, self.bias, padding=self.padding).permute(0, 2, 3, 1)
        if sums is None:
            return cells
        added = functional.linear(values, sums).view(len(values), len(self.inside), -1)
        return cells + added.unsqueeze(self.across)

    def _parts(self) -> tuple[Tensor, Tensor | None]:
        """Return the kernel of the varying planes, and the contribution of each uniform plane to the cells of a line.

        A rollout needs them many times for the same weights, so they are cached in inference mode. The fused gradient
        step changes weights without changing their version, so computing gradients clears the cache.
        """
        if not torch.is_inference_mode_enabled():
            self._cached = None
            return self._split()
        state = self.weight.data_ptr(), self.weight._version  # noqa: SLF001
        if self._cached is None or self._cached[0] != state:
            self._cached = state, self._split()
        return self._cached[1]

    def _split(self) -> tuple[Tensor, Tensor | None]:
        lo, hi = self.uniform
        if lo == hi:
            return self.weight, None
        taps = self.weight[:, lo:hi].reshape(-1, self.inside.shape[1])
        return without(self.weight, lo, hi), functional.linear(self.inside, taps).view(-1, hi - lo)


def without(planes: Tensor, lo: int, hi: int) -> Tensor:
    """Return the planes without `lo..hi` of the second axis."""
    return torch.cat((planes[:, :lo], planes[:, hi:]), 1) if lo < hi else planes


class CrossConvolution(nn.Module):
    """Convolutions along each cell's row and column, each with half of the channels.

    For the cost of a 3x3 convolution it sees whole lines. In `drmario` it learns twice as fast as that.
    """

    def __init__(self, observation: Field, channels: int) -> None:
        super().__init__()
        count, height, width = image_shape(observation)
        self.uniform = observation.uniform
        self.column = LineConvolution(count, channels - channels // 2, height, 1, self.uniform)
        self.row = LineConvolution(count, channels // 2, width, 2, self.uniform)

    def forward(self, board: Tensor) -> Tensor:
        """Return `(rows, H, W, channels)` of `(rows, planes, H, W)`."""
        lo, hi = self.uniform
        varying = without(board, lo, hi).contiguous(memory_format=torch.channels_last)
        values = board[:, lo:hi, 0, 0]
        return functional.relu(torch.cat((self.column(varying, values), self.row(varying, values)), 3), inplace=True)
