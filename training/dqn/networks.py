"""Networks from stacked stored observations to the values of actions."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...envs import BadParameter, Field, Task
from ..nets.decoding import FORBIDDEN, decoder, image_shape, is_image, mask_decoder
from ..nets.distribution import sample
from ..nets.torsos import PIXEL_FEATURES, BoardTorso, PixelTorso, initialize, is_large_image
from ..trainer import PolicyOutput
from .settings import IqnSettings, QLearningSettings

CELL_CHANNELS = 4


def check_choices(task: Task, trainer: str) -> None:
    """Check that a task's actions are single choices.

    Raises:
        BadParameter: They are not.
    """
    if task.bounds or task.choices:
        raise BadParameter(f"{trainer} needs one choice per decision; train tasks with other actions with ppo")


class PixelFeatures(PixelTorso):
    """Features of a large image."""

    size = PIXEL_FEATURES

    def forward(self, image: Tensor) -> Tensor:
        """Return `(rows, size)` of `(rows, C, H, W)`."""
        return self.features(image)


class BoardFeatures(BoardTorso):
    """Features of a small image or of bit planes."""

    def __init__(self, observation: Field, settings: QLearningSettings) -> None:
        super().__init__(observation, settings.channels, settings.layers)
        _, height, width = image_shape(observation)
        self.size = settings.hidden
        self.cell = nn.Linear(settings.channels, CELL_CHANNELS)
        self.joint = nn.Linear(CELL_CHANNELS * height * width, settings.hidden)

    def forward(self, board: Tensor) -> Tensor:
        """Return `(rows, size)` of `(rows, C, H, W)`."""
        cells = self.cell(self.features(board)).relu().view(len(board), -1)
        features: Tensor = self.joint(cells).relu()
        return features


class VectorFeatures(nn.Sequential):
    """Features of a vector: fully connected layers with rectifiers.

    Attributes:
        layers: The fully connected layers.
    """

    def __init__(self, inputs: int, settings: QLearningSettings) -> None:
        widths = [inputs, *[settings.hidden] * settings.layers]
        modules: list[nn.Module] = [nn.Flatten()]
        for before, after in pairwise(widths):
            modules += [nn.Linear(before, after), nn.ReLU(inplace=True)]
        super().__init__(*modules)
        self.layers = tuple(module for module in modules if isinstance(module, nn.Linear))
        self.size = settings.hidden

    def forward(self, vector: Tensor) -> Tensor:
        """Return `(rows, size)` of `(rows, ...)`. Calling each module would take longer than the arithmetic."""
        features = vector.flatten(1)
        for layer in self.layers:
            features = functional.linear(features, layer.weight, layer.bias).relu_()
        return features


class QNetwork(nn.Module):
    """Values of all actions, `(rows, actions)`, from stored observations and masks.

    Args:
        task: The task, whose actions are single choices.
        generator: Draws the weights.

    Attributes:
        decode: Decodes stored rows to float32.
        mask: Decodes stored masks to what is added to values; None if every action is always legal.
    """

    def __init__(self, task: Task, settings: QLearningSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.decode = decoder(task.observation)
        self.mask = mask_decoder(task)
        self._stack = settings.frame_stack
        self.torso = _features(task.observation, settings)
        size = self._make_head(settings)
        self.advantage = nn.Linear(size, task.num_actions)
        self.value = nn.Linear(size, 1) if settings.dueling else None
        gains: dict[nn.Module, float] = {self.advantage: 1.0}
        if self.value is not None:
            gains[self.value] = 1.0
        initialize(self, gains, generator)

    def _make_head(self, settings: QLearningSettings) -> int:  # noqa: ARG002
        """Make the layers between the torso and the last layer; return how many features they have."""
        return self.torso.size

    def forward(self, stored: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the values `(rows, actions)`; those of illegal actions are about -1e9.

        Args:
            stored: `(rows, *stored_shape)`, or `(rows, k, *stored_shape)` with stacks of k frames.
            mask: `(rows, bytes)` of packed bits, 1 where an action is legal; None where all are.
        """
        return self.values(self.features(stored), mask)[0]

    def features(self, stored: Tensor) -> Tensor:
        """Return the torso's features `(rows, size)`."""
        features: Tensor = self.torso(self.decoded(stored))
        return features

    def decoded(self, stored: Tensor) -> Tensor:
        """Return observations as float32 `(rows, ...)`; the frames of a stack are channels."""
        if self._stack == 1:
            decoded: Tensor = self.decode(stored)
            return decoded
        frames: Tensor = self.decode(stored.flatten(0, 1))
        return frames.reshape(len(stored), -1, *frames.shape[2:])

    def of_decoded(self, newest: Tensor, older: Tensor | None, mask: Tensor | None) -> Tensor:
        """Return the values `(1, actions)` of one observation that is decoded already, after `older` ones of a stack.

        Args:
            newest: `(1, ...)`.
            older: `(k - 1, ...)`, or None without a stack.
            mask: As `forward` gets it.
        """
        frames = newest if older is None else torch.cat((older, newest)).reshape(1, -1, *newest.shape[2:])
        return self.values(self.torso(frames), mask)[0]

    def values(self, features: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the values `(rows, actions)` of features, and the quantiles they are the mean of, if there are any."""
        return self._masked(self._last(features), mask), None

    def _last(self, features: Tensor) -> Tensor:
        values: Tensor = self.advantage(features)
        if self.value is not None:
            values = values - values.mean(-1, keepdim=True) + self.value(features)
        return values

    def _masked(self, values: Tensor, mask: Tensor | None) -> Tensor:
        return values if mask is None or self.mask is None else values + self.mask(mask)


class IqnNetwork(QNetwork):
    """An implicit quantile network (Dabney et al., 2018): quantiles of the return at any fractions.

    The torso's features are multiplied with an embedding of the fraction. One more hidden layer follows. The value of
    an action is the mean of its quantiles at K equally spaced fractions. The paper draws these K fractions at random.
    """

    frequencies: Tensor
    spaced: Tensor

    def _make_head(self, settings: QLearningSettings) -> int:
        assert isinstance(settings, IqnSettings)
        count = settings.policy_fractions
        self.register_buffer("frequencies", torch.arange(settings.cosines) * math.pi, persistent=False)
        self.register_buffer("spaced", (torch.arange(count) + 0.5) / count * settings.cvar, persistent=False)
        self.embedding = nn.Linear(settings.cosines, self.torso.size)
        self.joint = nn.Linear(self.torso.size, settings.hidden)
        return settings.hidden

    def quantiles(self, features: Tensor, fractions: Tensor) -> Tensor:
        """Return the quantiles `(rows, n, actions)` of features.

        Args:
            features: `(rows, size)`.
            fractions: In [0, 1], `(rows, n)`, or `(1, n)` if they are the same for all rows.
        """
        embedded = self.embedding((fractions.unsqueeze(-1) * self.frequencies).cos()).relu()
        return self._last(self.joint(features.unsqueeze(1) * embedded).relu())

    def values(self, features: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the values `(rows, actions)` of features, and their quantiles `(rows, K, actions)`."""
        quantiles = self.quantiles(features, self.spaced.unsqueeze(0))
        return self._masked(quantiles.mean(1), mask), quantiles


def _features(observation: Field, settings: QLearningSettings) -> PixelFeatures | BoardFeatures | VectorFeatures:
    depth = settings.frame_stack
    if not is_image(observation) or (settings.channels == 0 and not is_large_image(observation)):
        return VectorFeatures(depth * math.prod(observation.shape), settings)
    if depth > 1:
        channels, height, width = image_shape(observation)
        observation = replace(observation, shape=(depth * channels, height, width), uniform=(0, 0))
    return PixelFeatures(observation) if is_large_image(observation) else BoardFeatures(observation, settings)


SHOWN = 5
TENTHS = (0.1, 0.9)


def epsilon_greedy(values: Tensor, network: QNetwork, mask: Tensor | None, noise: Tensor, epsilon: float) -> Tensor:
    """Return an action per row `(rows,)`: the best one, or with the probability `epsilon` a random legal one.

    Args:
        values: `(rows, actions)` from the network.
        mask: `(rows, bytes)` of packed bits, 1 where an action is legal; None where all are.
        noise: `(rows, 2)` independent random numbers, uniform in (0, 1].
        epsilon: The probability.
    """
    legal = torch.zeros_like(values) if mask is None or network.mask is None else network.mask(mask)
    random, _ = sample(legal, noise[:, 1:])
    return torch.where(noise[:, 0] <= epsilon, random, values.argmax(-1))


def q_output(values: Tensor, epsilon: float, quantiles: Tensor | None = None) -> PolicyOutput:
    """Return the best actions with their values and probabilities.

    Args:
        values: `(actions,)` from the network.
        epsilon: The probability of a random action.
        quantiles: `(fractions, actions)` of the returns, for the ranges that hold 80 % of them; None if not known.
    """
    legal = values > FORBIDDEN / 2
    spread = epsilon / max(1, int(legal.sum()))
    top = values.topk(min(SHOWN, len(values)))
    known = int(legal[top.indices].sum())
    actions, chances = top.indices[:known], [spread + (1 - epsilon) * (rank == 0) for rank in range(known)]
    every = [spread + 1 - epsilon, *[spread] * (int(legal.sum()) - 1)]
    ranges = [] if quantiles is None else quantiles[:, actions].quantile(quantiles.new_tensor(TENTHS), 0).T.tolist()
    return PolicyOutput(
        float(top.values[0]),
        -sum(chance * math.log(chance) for chance in every if chance > 0),
        actions.tolist(),
        chances,
        values=top.values.tolist()[:known],
        ranges=[(low, high) for low, high in ranges],
        epsilon=epsilon,
    )


def shows_quantiles(settings: QLearningSettings) -> bool:
    """Whether the quantiles of a network are those of the whole distribution."""
    return not isinstance(settings, IqnSettings) or settings.cvar == 1.0
