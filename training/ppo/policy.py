"""The policy and value network; the task's observation and actions choose its layers."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Self

import torch
from torch import Tensor, nn

from ...envs import Task
from .distribution import FORBIDDEN
from .settings import Settings
from .widen import WidenBits, is_image, planes, widen

SMALL_IMAGE = 32
"""Images up to this side keep their resolution through the trunk; larger ones are strided down."""


class Policy(nn.Module):
    """Maps stored observations and stored masks to masked logits and values.

    Attributes:
        widen: Stored rows to float32.
        trunk: Float32 rows to features.
        action_head: Features to `(rows, num_actions)`.
        value_head: Features to `(rows, 1)`.
    """

    def __init__(self, task: Task, settings: Settings, generator: torch.Generator) -> None:
        super().__init__()
        self.widen = widen(task.observation)
        self.mask = WidenBits((task.num_actions,), zero=FORBIDDEN, one=0.0) if task.masked else None
        self.trunk, self.action_head, self.value_head = build_network(task, settings)
        initialize(self, generator)

    def placed(self, device: torch.device) -> Self:
        """Move to a device, convolutions with their channels last, which is how they run fastest on CPUs and GPUs."""
        for parameter in self.parameters():
            if parameter.dim() == 4:
                parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
        return self.to(device)

    def forward(self, observation: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return masked logits `(rows, num_actions)` and values `(rows,)`.

        Args:
            observation: `(rows, *stored_shape)` as the buffer stores it.
            mask: `(rows, bytes)` of packed bits, 1 where an action is legal; None where all are.
        """
        features = self.trunk(self.widen(observation))
        logits = self.action_head(features)
        if self.mask is not None and mask is not None:
            logits = logits + self.mask(mask)
        return logits, self.value_head(features).squeeze(-1)

    def value(self, observation: Tensor) -> Tensor:
        """Return values `(rows,)` alone."""
        value: Tensor = self.value_head(self.trunk(self.widen(observation))).squeeze(-1)
        return value


def build_network(task: Task, settings: Settings) -> tuple[nn.Module, nn.Module, nn.Module]:
    """Return trunk, action head and value head for float32 observations."""
    if not is_image(task.observation):
        return _mlp(math.prod(task.observation.shape), task.num_actions, settings)
    channels, height, width = planes(task.observation)
    if max(height, width) > SMALL_IMAGE:
        return _strided(channels, height, width, task.num_actions)
    trunk = _board_trunk(channels, settings)
    if len(task.action_shape) == 3 and task.action_shape[1:] == (height, width):
        # One 1x1 convolution: a move's logit depends on its surroundings, not on where on the board they are.
        action: nn.Module = nn.Sequential(nn.Conv2d(settings.channels, task.action_shape[0], 1), nn.Flatten())
    else:
        action = nn.Sequential(nn.Flatten(), nn.Linear(settings.channels * height * width, task.num_actions))
    return trunk, action, _board_value(height * width, settings)


def _board_trunk(channels: int, settings: Settings) -> nn.Module:
    """3x3 convolutions that keep the board's size."""
    widths = [channels, *[settings.channels] * settings.layers]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


def _board_value(cells: int, settings: Settings) -> nn.Module:
    """Four summary channels of the board, then two fully connected layers."""
    return nn.Sequential(
        nn.Conv2d(settings.channels, 4, 1),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(4 * cells, settings.hidden),
        nn.ReLU(inplace=True),
        nn.Linear(settings.hidden, 1),
    )


def _strided(channels: int, height: int, width: int, actions: int) -> tuple[nn.Module, nn.Module, nn.Module]:
    """The convolutions of Mnih et al. (2015) for pixels."""
    convolutions = nn.Sequential(
        nn.Conv2d(channels, 32, 8, stride=4),
        nn.ReLU(inplace=True),
        nn.Conv2d(32, 64, 4, stride=2),
        nn.ReLU(inplace=True),
        nn.Conv2d(64, 64, 3),
        nn.ReLU(inplace=True),
        nn.Flatten(),
    )
    with torch.no_grad():
        width = convolutions(torch.zeros(1, channels, height, width)).shape[1]
    trunk = nn.Sequential(convolutions, nn.Linear(width, 512), nn.ReLU(inplace=True))
    return trunk, nn.Linear(512, actions), nn.Linear(512, 1)


def _mlp(inputs: int, actions: int, settings: Settings) -> tuple[nn.Module, nn.Module, nn.Module]:
    """Separate towers for action and value, which share nothing but the observation."""
    return nn.Flatten(), _tower(inputs, actions, settings), _tower(inputs, 1, settings)


def _tower(inputs: int, outputs: int, settings: Settings) -> nn.Module:
    widths = [inputs, *[settings.hidden] * settings.layers]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs))


def initialize(policy: Policy, generator: torch.Generator) -> None:
    """Orthogonal weights and zero biases: gain sqrt(2), 0.01 for the action's last layer, 1 for the value's.

    As Andrychowicz et al. (2021) and Huang et al. (2022) recommend: the first policy is nearly uniform.
    """
    layers = [module for module in policy.modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    gains = {_last(policy.action_head): 0.01, _last(policy.value_head): 1.0}
    for layer in layers:
        nn.init.orthogonal_(layer.weight, gains.get(layer, math.sqrt(2)), generator=generator)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


def _last(head: nn.Module) -> nn.Module:
    return [module for module in head.modules() if isinstance(module, nn.Linear | nn.Conv2d)][-1]
