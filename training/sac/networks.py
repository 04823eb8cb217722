"""The networks of SAC: the policy, two estimates of values, and the temperature."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...envs import BadParameter, Task
from ..nets.decoding import decoder
from ..nets.dense import DenseLayers, product_on
from ..nets.device_buffer import ActionScale
from ..nets.distribution import LOG_2_PI
from ..nets.torsos import is_large_image
from ..trainer import PolicyOutput
from .settings import SacSettings

CRITICS = 2
QUANTILES = 256
"""Normal numbers over which the mean and the deviation of an action are computed."""
LEAST_LOG_STD, MOST_LOG_STD = -20.0, 2.0


def check_task(task: Task) -> None:
    """Check that SAC can learn a task.

    Raises:
        BadParameter: It cannot.
    """
    if not task.bounds:
        raise BadParameter("sac needs continuous actions; train tasks with other actions with ppo or dqn")
    for index, bounds in enumerate(task.bounds):
        if not all(map(math.isfinite, bounds)):
            raise BadParameter(
                f"sac needs bounds of all numbers of an action, and number {index} is in {list(bounds)}; bound the "
                "Box of the action space, for instance with the wrapper TransformAction, or train with ppo"
            )
    if is_large_image(task.observation) or task.observation.images:
        raise BadParameter("sac learns from vectors of numbers; train tasks that show images with ppo")


class SquashedAction(NamedTuple):
    """Actions tanh(u) of a normal u, and what their gradient needs.

    Attributes:
        actions: `(B, K)`, between -1 and 1.
        log_densities: `(B,)`.
        moved: `(B, K)`, by how much u is away from its mean.
        free: `(B, K)`, whether the logarithm of the deviation is within its bounds.
    """

    actions: Tensor
    log_densities: Tensor
    moved: Tensor
    free: Tensor

    def slopes(self, of_actions: Tensor, of_log_density: Tensor | float) -> Tensor:
        """Return the gradient of the policy's outputs `(B, 2 K)`.

        Args:
            of_actions: The gradient of the actions, `(B, K)`.
            of_log_density: The gradient of each log-density, the same for all rows.
        """
        mean = of_actions * (1 - self.actions.square()) + 2 * of_log_density * self.actions
        return torch.cat((mean, (mean * self.moved - of_log_density) * self.free), 1)


def squashed(outputs: Tensor, normal: Tensor) -> SquashedAction:
    """Return actions of the policy.

    Args:
        outputs: `(B, 2 K)`, the means and the logarithms of the deviations of u.
        normal: `(B, K)` independent normal numbers.
    """
    mean, raw = outputs.chunk(2, 1)
    log_std = raw.clamp(LEAST_LOG_STD, MOST_LOG_STD)
    moved = log_std.exp() * normal
    u = mean + moved
    log_densities = -(0.5 * (normal.square() + LOG_2_PI) + log_std + log_slope_of_tanh(u)).sum(1)
    return SquashedAction(u.tanh(), log_densities, moved, log_std == raw)


def log_slope_of_tanh(u: Tensor) -> Tensor:
    """Return log(1 - tanh(u)^2), exactly also where the tanh is 1."""
    return 2 * (math.log(2) - u - functional.softplus(-2 * u))


class SacNetwork(nn.Module):
    """Policy, critics and temperature.

    Attributes:
        decode: Decodes stored rows to float32.
        actor: The layers from observations to means and logarithms of deviations.
        critics: For each critic, the layers from observations and actions to a value.
        log_alpha: The logarithm of the temperature.
    """

    def __init__(self, task: Task, settings: SacSettings, generator: torch.Generator) -> None:
        super().__init__()
        numbers, stack = len(task.bounds), settings.frame_stack
        inputs = stack * math.prod(task.observation.shape)
        self._stack = stack
        self.decode = decoder(task.observation)
        hidden = [settings.hidden] * settings.layers
        self.actor = _layers([inputs, *hidden, 2 * numbers], generator)
        self.critics = nn.ModuleList(_layers([inputs + numbers, *hidden, 1], generator) for _ in range(CRITICS))
        self.log_alpha = nn.Parameter(torch.tensor(math.log(settings.alpha)))

    def observed(self, stored: Tensor) -> Tensor:
        """Return observations as float32 `(rows, numbers)`, of stored ones or stacks of them."""
        decoded: Tensor = self.decode(stored.flatten(0, 1) if self._stack > 1 else stored)
        return decoded.view(len(stored), -1)


def value_of_action(network: SacNetwork, observed: Tensor, action: Tensor) -> Tensor:
    """Return the lower one of what the critics expect of an action, for autograd: a scalar.

    Args:
        observed: `(1, numbers)`, all frames of a stack.
        action: `(1, K)` in the policy's unit.
    """
    found = []
    for critic in network.critics:
        values = torch.cat((observed, action), 1)
        *hidden, last = critic.children()
        for layer in hidden:
            values = layer(values).relu()
        found.append(last(values)[0, 0])
    return torch.stack(found).min()


def action_output(outputs: Tensor, scale: ActionScale, values: Tensor) -> PolicyOutput:
    """Return mean and deviation of the actions of one row, in the environment's unit, and its entropy.

    They are those over equally likely normal numbers.

    Args:
        outputs: `(1, 2 K)`, the policy's.
        scale: The unit of actions.
        values: What each critic expects, `(critics, 1)`.
    """
    shares = (torch.arange(QUANTILES, device=outputs.device) + 0.5) / QUANTILES
    normal = torch.special.ndtri(shares).unsqueeze(1).expand(-1, outputs.shape[1] // 2)
    drawn = squashed(outputs.expand(QUANTILES, -1), normal)
    mean, deviation = drawn.actions.mean(0), drawn.actions.std(0, correction=0)
    return PolicyOutput(
        float(values.min()),
        -float(drawn.log_densities.mean()),
        (),
        (),
        scale.of_environment(mean).tolist(),
        scale.reach(deviation).tolist(),
        critics=values[:, 0].tolist(),
    )


def dense(layers: nn.Module, device: torch.device) -> DenseLayers:
    """Return the arithmetic of the layers of a network that is on `device`."""
    return DenseLayers([each for each in layers.children() if isinstance(each, nn.Linear)], product_on(device))


def _layers(widths: list[int], generator: torch.Generator) -> nn.ModuleList:
    """Return layers with PyTorch's usual weights, uniform within 1 / sqrt(inputs)."""
    layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
    for layer, inputs in zip(layers, widths, strict=False):
        for parameter in layer.parameters():
            nn.init.uniform_(parameter, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs), generator=generator)
    return layers
