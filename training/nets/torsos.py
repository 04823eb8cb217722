"""Torsos: the layers from a decoded observation to features. An algorithm adds its own last layers.

A torso is a base class and not a submodule, so the names of saved weights do not contain it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...envs import Field
from .decoding import ChannelsFirst, image_shape, is_image
from .line_convolution import VARIANT, CrossConvolution, by_products, joined, product_of_halves, rectified_product
from .precision import Conv2d, Linear, Output

LARGE_IMAGE = 36
"""Images of at least this side are for strided convolutions; smaller ones keep their resolution."""
REDUCED = 80
"""Large images are reduced by the largest integer factor that leaves their shorter side at least this long."""
PIXEL_FEATURES, CELL_FEATURES = 512, 16


class BoardTorso(nn.Module):
    """Convolutions along rows and columns, then layers cell by cell; for small images and bit planes."""

    def __init__(self, observation: Field, channels: int, layers: int) -> None:
        super().__init__()
        self.lines = CrossConvolution(observation, channels)
        # Channels last, a 1x1 convolution is a matrix product, whose backward pass is several times faster.
        self.mixing = nn.ModuleList(Linear(channels, channels) for _ in range(layers - 1))

    def takes_bits(self, stored: Tensor) -> bool:
        """Return whether `features` takes boards as they are stored, so that they need not be decoded."""
        return VARIANT.bits and by_products(stored) and self.lines.packed

    def features(self, board: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the features of all cells `(rows x H x W, channels)` of `(rows, C, H, W)`.

        Args:
            board: Decoded boards, or stored ones if `takes_bits`.
            dtype: The type to compute in, of stored ones.
        """
        if not by_products(board):
            return self._mixed(self.lines(board).flatten(0, 2), self.mixing)
        halves = self.lines.products_of_bits(board, dtype) if board.dtype == torch.uint8 else self.lines.products(board)
        return self.of_halves(*halves)

    def of_halves(self, columns: Tensor, rows: Tensor) -> Tensor:
        """Return the features of all cells of the outputs of both directions."""
        if VARIANT.joined or not len(self.mixing):
            return self._mixed(joined(columns, rows).flatten(0, 2), self.mixing)
        first, *others = self.mixing
        assert isinstance(first, Linear)
        return self._mixed(product_of_halves(columns, rows, *first.parts(rows.dtype)), others)

    @staticmethod
    def _mixed(features: Tensor, layers: Iterable[nn.Module]) -> Tensor:
        for layer in layers:
            assert isinstance(layer, Linear)
            weight, bias = layer.parts(features.dtype)
            features = rectified_product(features, weight.t(), bias, features.shape)
        return features


class PixelTorso(nn.Module):
    """The convolutions of Mnih et al. (2015), on an image that is reduced to about their input size.

    Their strides end at the border of 84 x 84 pixels. Other images get a border of zeros, without which up to seven of
    the last rows and columns would not be seen.
    """

    def __init__(self, observation: Field) -> None:
        super().__init__()
        channels, height, width = image_shape(observation)
        factor = max(1, min(height, width) // REDUCED)
        self.convolutions = nn.Sequential(
            *([nn.AvgPool2d(factor, ceil_mode=True)] if factor > 1 else []),
            Conv2d(channels, 32, 8, stride=4, padding=(_border(height, factor), _border(width, factor))),
            nn.ReLU(inplace=True),
            Conv2d(32, 64, 4, stride=2),
            nn.ReLU(inplace=True),
            Conv2d(64, 64, 3),
            nn.ReLU(inplace=True),
            nn.Flatten(),
        )
        with torch.no_grad():
            flat = self.convolutions(torch.zeros(1, channels, height, width)).shape[1]
        self.joint = nn.Sequential(Linear(flat, PIXEL_FEATURES), nn.ReLU(inplace=True))

    def features(self, image: Tensor) -> Tensor:
        """Return the features `(rows, PIXEL_FEATURES)` of `(rows, C, H, W)`."""
        features: Tensor = self.joint(self.convolutions(image))
        return features


def _border(side: int, factor: int) -> int:
    """Return how many pixels each border of a reduced side needs, so that the strides of `PixelTorso` reach its end."""
    missing = (4 - math.ceil(side / factor)) % 8  # they reach the end of 36, 44, ..., 84, ... pixels
    return math.ceil(missing / 2)


class PartsTorso(nn.Module):
    """A torso for each image of a flat observation; their features follow its other numbers.

    Attributes:
        width: Number of features.
    """

    def __init__(self, observation: Field, channels: int, layers: int, hidden: int) -> None:
        super().__init__()
        self.spans = tuple((first, first + math.prod(shape)) for first, shape in observation.images)
        fields = [Field("image", "uint8", shape, per="seat") for _, shape in observation.images]
        self.layouts = nn.ModuleList(ChannelsFirst(field) for field in fields)
        self.parts = nn.ModuleList(_image_features(field, channels, layers, hidden) for field in fields)
        rest = math.prod(observation.shape) - sum(end - first for first, end in self.spans)
        self.width = rest + sum(PIXEL_FEATURES if is_large_image(field) else hidden for field in fields)

    def features(self, vector: Tensor) -> Tensor:
        """Return the features `(rows, width)` of `(rows, numbers)`."""
        found, end = [], 0
        for (first, last), layout, part in zip(self.spans, self.layouts, self.parts, strict=True):
            found += [vector[:, end:first], part(layout(vector[:, first:last]))]
            end = last
        return torch.cat([*found, vector[:, end:]], 1)


class SmallImage(BoardTorso):
    """Features of a small image as a vector."""

    def __init__(self, observation: Field, channels: int, layers: int, hidden: int) -> None:
        super().__init__(observation, channels, layers)
        _, height, width = image_shape(observation)
        self.cell = Linear(channels, CELL_FEATURES)
        self.joint = nn.Sequential(Linear(CELL_FEATURES * height * width, hidden), nn.ReLU(inplace=True))

    def forward(self, image: Tensor) -> Tensor:
        """Return the features `(rows, hidden)` of `(rows, C, H, W)`."""
        cells = functional.relu(self.cell(self.features(image)), inplace=True)
        features: Tensor = self.joint(cells.view(len(image), -1))
        return features


class LargeImage(PixelTorso):
    """Features of a large image as a vector."""

    def forward(self, image: Tensor) -> Tensor:
        """Return the features `(rows, PIXEL_FEATURES)` of `(rows, C, H, W)`."""
        return self.features(image)


def _image_features(observation: Field, channels: int, layers: int, hidden: int) -> nn.Module:
    if is_large_image(observation):
        return LargeImage(observation)
    return SmallImage(observation, channels, layers, hidden)


class PartsFeatures(PartsTorso):
    """Features of a flat observation with images as a vector."""

    def forward(self, vector: Tensor) -> Tensor:
        """Return the features `(rows, width)` of `(rows, numbers)`."""
        return self.features(vector)


def features_of(observation: Field, channels: int, layers: int, hidden: int) -> tuple[nn.Module, int]:
    """Return a module from decoded observations to features `(rows, width)`, and their width."""
    if is_image(observation):
        width = PIXEL_FEATURES if is_large_image(observation) else hidden
        return _image_features(observation, channels, layers, hidden), width
    if observation.images:
        parts = PartsFeatures(observation, channels, layers, hidden)
        return parts, parts.width
    body = list(tower(math.prod(observation.shape), hidden, hidden, layers))[:-1]
    return nn.Sequential(nn.Flatten(), *body), hidden


def tower(inputs: int, outputs: int, hidden: int, layers: int) -> nn.Sequential:
    """Return fully connected layers with tanh between them, `hidden` wide; for vectors."""
    widths = [inputs, *[hidden] * layers]
    modules: list[nn.Module] = []
    for before, after in pairwise(widths):
        modules += [Linear(before, after), nn.Tanh()]
    return nn.Sequential(*modules, Output(widths[-1], outputs))


def is_large_image(observation: Field) -> bool:
    """Whether an observation is an image for `PixelTorso`; smaller ones are for `BoardTorso`."""
    return is_image(observation) and min(image_shape(observation)[1:]) >= LARGE_IMAGE


def initialize(network: nn.Module, gains: Mapping[nn.Module, float], generator: torch.Generator) -> None:
    """Set orthogonal weights and zero biases, as Andrychowicz et al. (2021) and Huang et al. (2022) recommend.

    Args:
        gains: The gain of each layer whose gain is not sqrt(2).
        generator: Draws the weights.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # rounding, and so a seed's weights, would depend on the number of cores
    for layer in network.modules():
        if isinstance(layer, nn.GRUCell):  # a block for each gate
            for weight in (layer.weight_ih, layer.weight_hh):
                for gate in weight.chunk(3):
                    nn.init.orthogonal_(gate, generator=generator)
            nn.init.zeros_(layer.bias_ih)
            nn.init.zeros_(layer.bias_hh)
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.orthogonal_(layer.weight, gains.get(layer, math.sqrt(2)), generator=generator)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
    torch.set_num_threads(threads)
