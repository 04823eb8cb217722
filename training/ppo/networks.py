"""Actor-critic networks: float32 observations to logits and values. `build_network` chooses one for a task."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...envs import Task
from ..nets.decoding import image_shape, is_image
from ..nets.torsos import PIXEL_FEATURES, BoardTorso, PartsTorso, PixelTorso, is_large_image, tower
from .settings import PpoSettings

VALUE_CHANNELS = 4


class ActorCritic(nn.Module):
    """A network from observations to logits `(rows, num_actions)` and values `(rows,)`.

    Attributes:
        rows_at_once: The number of rows whose activations fit into a core's cache, forward and backward.
    """

    rows_at_once: ClassVar[int]

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return the initial gain of each layer whose gain is not sqrt(2)."""
        raise NotImplementedError


class BoardNetwork(BoardTorso, ActorCritic):
    """Logits and a few features for the value from the features of each cell.

    If the actions are cells of the board, the logits of a move depend on its surroundings and not on its position. If
    not, a fully connected layer over all cells gives the logits.
    """

    rows_at_once = 64

    def __init__(self, task: Task, settings: PpoSettings) -> None:
        super().__init__(task.observation, settings.channels, settings.layers)
        _, height, width = image_shape(task.observation)
        self.spatial = len(task.action_shape) == 3 and task.action_shape[1:] == (height, width)
        self.per_cell = task.action_shape[0] if self.spatial else VALUE_CHANNELS
        self.cell = nn.Linear(settings.channels, self.per_cell + VALUE_CHANNELS)
        cells = height * width
        self.action = nn.Identity() if self.spatial else nn.Linear(self.per_cell * cells, task.num_actions)
        self.value = nn.Sequential(
            nn.Linear(VALUE_CHANNELS * cells, settings.hidden), nn.ReLU(), nn.Linear(settings.hidden, 1)
        )

    def forward(self, board: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, C, H, W)`."""
        features = self.features(board)
        # A product with few outputs and many cells is fastest with the cells last: `(outputs, rows, cells)`.
        product = torch.addmm(self.cell.bias.unsqueeze(1), self.cell.weight, features.t())
        cells = product.view(len(product), len(board), -1).transpose(0, 1)
        logits = self.action(cells[:, : self.per_cell].flatten(1))
        value = self.value(functional.relu(cells[:, self.per_cell :].flatten(1)))
        return logits, value.squeeze(-1)

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return gains for which the initial policy is nearly uniform."""
        return {self.action if not self.spatial else self.cell: 0.01, self.value[-1]: 1.0}


class PixelNetwork(PixelTorso, ActorCritic):
    """Logits and value from the same features of an image."""

    rows_at_once = 32

    def __init__(self, task: Task) -> None:
        super().__init__(task.observation)
        self.action = nn.Linear(PIXEL_FEATURES, task.num_actions)
        self.value = nn.Linear(PIXEL_FEATURES, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, C, H, W)`."""
        features = self.features(image)
        return self.action(features), self.value(features).squeeze(-1)

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return gains for which the initial policy is nearly uniform."""
        return {self.action: 0.01, self.value: 1.0}


class VectorNetwork(ActorCritic):
    """Separate fully connected networks for policy and value."""

    rows_at_once = 256

    def __init__(self, task: Task, settings: PpoSettings) -> None:
        super().__init__()
        inputs = math.prod(task.observation.shape)
        self.action = tower(inputs, task.num_actions, settings.hidden, settings.layers)
        self.value = tower(inputs, 1, settings.hidden, settings.layers)

    def forward(self, vector: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, ...)`."""
        flat = vector.flatten(1)
        return self.action(flat), self.value(flat).squeeze(-1)

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return gains for which the initial policy is nearly uniform."""
        return {self.action[-1]: 0.01, self.value[-1]: 1.0}


class PartsNetwork(PartsTorso, ActorCritic):
    """Separate fully connected networks for policy and value, on the features of images and the numbers beside them."""

    rows_at_once = 32

    def __init__(self, task: Task, settings: PpoSettings) -> None:
        super().__init__(task.observation, settings.channels, settings.layers, settings.hidden)
        self.action = tower(self.width, task.num_actions, settings.hidden, settings.layers)
        self.value = tower(self.width, 1, settings.hidden, settings.layers)

    def forward(self, vector: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, numbers)`."""
        features = self.features(vector)
        return self.action(features), self.value(features).squeeze(-1)

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return gains for which the initial policy is nearly uniform."""
        return {self.action[-1]: 0.01, self.value[-1]: 1.0}


def build_network(task: Task, settings: PpoSettings) -> ActorCritic:
    """Return the network for the task's observation and actions."""
    if not is_image(task.observation):
        return PartsNetwork(task, settings) if task.observation.images else VectorNetwork(task, settings)
    return PixelNetwork(task) if is_large_image(task.observation) else BoardNetwork(task, settings)
