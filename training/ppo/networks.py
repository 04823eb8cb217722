"""The networks: float32 observations to logits and values. `build_network` chooses one by the task's observation."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...envs import Field, Task
from .settings import Settings
from .widen import is_image, planes

LARGE_IMAGE = 36
"""Images with at least this side are strided down, which takes so much; smaller ones keep their resolution."""
REDUCED = 80
"""Large images are reduced by a whole number so that their shorter side is at least this."""
VALUE_CHANNELS = 4
REACH = 4
"""Cells that a line looks in each direction: a pill's two halves and three more make four of one."""


class Network(nn.Module):
    """Observations to logits `(rows, num_actions)` and values `(rows,)`.

    Attributes:
        rows_at_once: Rows whose activations stay in a core's cache on their way there and back.
    """

    rows_at_once: ClassVar[int]

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return the gain of each layer's first weights that is not sqrt(2)."""
        raise NotImplementedError


class Line(nn.Conv2d):
    """Each cell's line, up to `REACH` cells to both sides: a convolution that takes uniform planes as scalars.

    What such a plane adds to a cell is its value times those weights that fall on the board.

    Args:
        planes: All planes, uniform ones included.
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
        self._kept: tuple[tuple[int, int], tuple[Tensor, Tensor | None]] | None = None
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
        """Return the kernel of the varying planes, and what each uniform plane adds to the cells of a line.

        A rollout takes them many times from the same weights: they are kept until those change. A gradient step may
        leave the version as it is (the fused one does), but not without gradients taken before it.
        """
        if not torch.is_inference_mode_enabled():
            self._kept = None
            return self._taken_apart()
        state = self.weight.data_ptr(), self.weight._version  # noqa: SLF001
        if self._kept is None or self._kept[0] != state:
            self._kept = state, self._taken_apart()
        return self._kept[1]

    def _taken_apart(self) -> tuple[Tensor, Tensor | None]:
        lo, hi = self.uniform
        if lo == hi:
            return self.weight, None
        taps = self.weight[:, lo:hi].reshape(-1, self.inside.shape[1])
        return without(self.weight, lo, hi), functional.linear(self.inside, taps).view(-1, hi - lo)


def without(planes: Tensor, lo: int, hi: int) -> Tensor:
    """Return what is left without `lo..hi` of the second axis."""
    return torch.cat((planes[:, :lo], planes[:, hi:]), 1) if lo < hi else planes


class Lines(nn.Module):
    """Each cell's row and column up to `REACH` cells away, each by half of the channels.

    At the cost of one 3x3 convolution it sees what games of lines are about; in `drmario` it learns twice as fast.
    """

    def __init__(self, observation: Field, channels: int) -> None:
        super().__init__()
        count, height, width = planes(observation)
        self.uniform = observation.uniform
        self.column = Line(count, channels - channels // 2, height, 1, self.uniform)
        self.row = Line(count, channels // 2, width, 2, self.uniform)

    def forward(self, board: Tensor) -> Tensor:
        """Return `(rows, H, W, channels)` of `(rows, planes, H, W)`."""
        lo, hi = self.uniform
        varying = without(board, lo, hi).contiguous(memory_format=torch.channels_last)
        values = board[:, lo:hi, 0, 0]
        return functional.relu(torch.cat((self.column(varying, values), self.row(varying, values)), 3), inplace=True)


class BoardNetwork(Network):
    """The lines through each cell; from them for each cell its logits and a few features for the value.

    Where the actions are cells of the board, a move's logits depend on its surroundings and not on where on the board
    they are. Where they are not, a fully connected layer over all cells gives the logits.
    """

    rows_at_once = 64

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__()
        _, height, width = planes(task.observation)
        self.spatial = len(task.action_shape) == 3 and task.action_shape[1:] == (height, width)
        self.per_cell = task.action_shape[0] if self.spatial else VALUE_CHANNELS
        self.lines = Lines(task.observation, settings.channels)
        # Channels last, a 1x1 convolution is a matrix product, which is several times faster on the way back.
        mixing = (nn.Linear(settings.channels, settings.channels) for _ in range(settings.layers - 1))
        self.mixing = nn.ModuleList(mixing)
        self.cell = nn.Linear(settings.channels, self.per_cell + VALUE_CHANNELS)
        cells = height * width
        self.action = nn.Identity() if self.spatial else nn.Linear(self.per_cell * cells, task.num_actions)
        self.value = nn.Sequential(
            nn.Linear(VALUE_CHANNELS * cells, settings.hidden), nn.ReLU(), nn.Linear(settings.hidden, 1)
        )

    def forward(self, board: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, C, H, W)`."""
        features = self.lines(board).flatten(0, 2)
        for layer in self.mixing:
            features = functional.relu(layer(features), inplace=True)
        # Few outputs times many cells is quick with the cells last: `(outputs, rows, cells)`.
        product = torch.addmm(self.cell.bias.unsqueeze(1), self.cell.weight, features.t())
        cells = product.view(len(product), len(board), -1).transpose(0, 1)
        logits = self.action(cells[:, : self.per_cell].flatten(1))
        value = self.value(functional.relu(cells[:, self.per_cell :].flatten(1)))
        return logits, value.squeeze(-1)

    def initial_gains(self) -> dict[nn.Module, float]:
        """The first policy is nearly uniform."""
        return {self.action if not self.spatial else self.cell: 0.01, self.value[-1]: 1.0}


class PixelNetwork(Network):
    """The convolutions of Mnih et al. (2015), over a picture reduced to about the size that they were made for."""

    rows_at_once = 32

    def __init__(self, task: Task) -> None:
        super().__init__()
        channels, height, width = planes(task.observation)
        factor = min(height, width) // REDUCED
        self.convolutions = nn.Sequential(
            *([nn.AvgPool2d(factor)] if factor > 1 else []),
            nn.Conv2d(channels, 32, 8, stride=4),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 64, 4, stride=2),
            nn.ReLU(inplace=True),
            nn.Conv2d(64, 64, 3),
            nn.ReLU(inplace=True),
            nn.Flatten(),
        )
        with torch.no_grad():
            features = self.convolutions(torch.zeros(1, channels, height, width)).shape[1]
        self.joint = nn.Sequential(nn.Linear(features, 512), nn.ReLU(inplace=True))
        self.action = nn.Linear(512, task.num_actions)
        self.value = nn.Linear(512, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, C, H, W)`."""
        features = self.joint(self.convolutions(image))
        return self.action(features), self.value(features).squeeze(-1)

    def initial_gains(self) -> dict[nn.Module, float]:
        """The first policy is nearly uniform."""
        return {self.action: 0.01, self.value: 1.0}


class VectorNetwork(Network):
    """Two towers, for action and value, which share nothing but the observation."""

    rows_at_once = 256

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__()
        inputs = math.prod(task.observation.shape)
        self.action = _tower(inputs, task.num_actions, settings)
        self.value = _tower(inputs, 1, settings)

    def forward(self, vector: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, ...)`."""
        flat = vector.flatten(1)
        return self.action(flat), self.value(flat).squeeze(-1)

    def initial_gains(self) -> dict[nn.Module, float]:
        """The first policy is nearly uniform."""
        return {self.action[-1]: 0.01, self.value[-1]: 1.0}


def build_network(task: Task, settings: Settings) -> Network:
    """Return the network for the task's observation and actions."""
    if not is_image(task.observation):
        return VectorNetwork(task, settings)
    _, height, width = planes(task.observation)
    return PixelNetwork(task) if min(height, width) >= LARGE_IMAGE else BoardNetwork(task, settings)


def _tower(inputs: int, outputs: int, settings: Settings) -> nn.Sequential:
    widths = [inputs, *[settings.hidden] * settings.layers]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs))


def initialize(network: Network, generator: torch.Generator) -> None:
    """Orthogonal weights and zero biases, as Andrychowicz et al. (2021) and Huang et al. (2022) recommend."""
    gains = network.initial_gains()
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.orthogonal_(layer.weight, gains.get(layer, math.sqrt(2)), generator=generator)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
