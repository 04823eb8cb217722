"""The policy: a network from stored observations and masks to masked logits and values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...envs import BadParameter, Field, Task
from ..nets.decoding import decoder, image_shape, is_image, mask_decoder
from ..nets.dense import TANH, DenseLayers, product_on
from ..nets.distribution import distribution_of
from ..nets.precision import GRUCell, Linear, Output
from ..nets.running_moments import ImageMoments, RunningMoments
from ..nets.torsos import (
    PIXEL_FEATURES,
    BoardTorso,
    PartsTorso,
    PixelTorso,
    features_of,
    initialize,
    is_large_image,
    tower,
)
from .settings import PpoSettings

VALUE_CHANNELS = 4


class ActorCritic(nn.Module):
    """A network from observations to logits `(rows, num_actions)` and values `(rows,)`.

    Attributes:
        rows_at_once: The number of rows whose activations fit into a core's cache, forward and backward.
    """

    rows_at_once: int

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return the initial gain of each layer whose gain is not sqrt(2)."""
        raise NotImplementedError


class BoardNetwork(BoardTorso, ActorCritic):
    """Logits and a few features for the value from the features of each cell.

    If the actions are cells of the board, the logits of a move depend on its surroundings and not on its position. If
    not, a fully connected layer over all cells gives the logits.
    """

    rows_at_once = 64

    def __init__(self, task: Task, settings: PpoSettings, dtype: torch.dtype) -> None:
        super().__init__(task.observation, settings.channels, settings.layers)
        self.dtype = dtype
        _, height, width = image_shape(task.observation)
        self.spatial = len(task.action_shape) == 3 and task.action_shape[1:] == (height, width)
        self.per_cell = task.action_shape[0] if self.spatial else VALUE_CHANNELS
        self.cell = Output(settings.channels, self.per_cell + VALUE_CHANNELS)
        cells = height * width
        self.action = nn.Identity() if self.spatial else Output(self.per_cell * cells, task.num_actions)
        self.value = nn.Sequential(
            Linear(VALUE_CHANNELS * cells, settings.hidden), nn.ReLU(), Output(settings.hidden, 1)
        )

    def forward(self, board: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, C, H, W)`, or of stored boards if `takes_bits`."""
        features = self.features(board, self.dtype)
        # A product with few outputs and many cells is fastest with the cells last: `(outputs, rows, cells)`.
        # It is float32: with logits in bfloat16, PPO learned the bottle a quarter slower.
        product = torch.addmm(self.cell.bias.unsqueeze(1), self.cell.weight, features.to(self.cell.weight.dtype).t())
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
        self.action = Output(PIXEL_FEATURES, task.num_actions)
        self.value = Output(PIXEL_FEATURES, 1)

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
        self._dense: tuple[DenseLayers, DenseLayers] | None = None

    def forward(self, vector: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, ...)`."""
        flat = vector.flatten(1)
        if torch.is_inference_mode_enabled() and flat.dtype == torch.float32:
            action, value = self.dense()
            return action(flat)[0], value(flat)[0].squeeze(-1)
        return self.action(flat), self.value(flat).squeeze(-1)

    def dense(self) -> tuple[DenseLayers, DenseLayers]:
        """Return the arithmetic of both, without autograd."""
        if self._dense is None:
            chosen = product_on(next(self.parameters()).device)
            action, value = (
                DenseLayers([each for each in part if isinstance(each, nn.Linear)], chosen, TANH)
                for part in (self.action, self.value)
            )
            self._dense = action, value
        return self._dense

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return gains for which the initial policy is nearly uniform."""
        return {self.action[-1]: 0.01, self.value[-1]: 1.0}


class PartsNetwork(PartsTorso, ActorCritic):
    """Separate fully connected networks for policy and value, on the features of images and the numbers beside them."""

    def __init__(self, task: Task, settings: PpoSettings) -> None:
        super().__init__(task.observation, settings.channels, settings.layers, settings.hidden)
        self.rows_at_once = 32 if any(isinstance(part, PixelTorso) for part in self.parts) else 64
        self.action = tower(self.width, task.num_actions, settings.hidden, settings.layers)
        self.value = tower(self.width, 1, settings.hidden, settings.layers)

    def forward(self, vector: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of `(rows, numbers)`."""
        features = self.features(vector)
        return self.action(features), self.value(features).squeeze(-1)

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return gains for which the initial policy is nearly uniform."""
        return {self.action[-1]: 0.01, self.value[-1]: 1.0}


class RecurrentNetwork(ActorCritic):
    """Recurrent layers (GRU, Cho et al., 2014) on the features of an observation, one each for policy and value.

    One for both would learn of the value mostly, whose errors are larger. Features of images are shared, as without a
    memory.
    """

    rows_at_once = 16  # sequences

    def __init__(self, task: Task, settings: PpoSettings) -> None:
        super().__init__()
        sizes = settings.channels, settings.layers, settings.hidden
        self.features, width = features_of(task.observation, *sizes)
        shared = is_image(task.observation) or task.observation.images
        self.value_features = None if shared else features_of(task.observation, *sizes)[0]
        self.cells = nn.ModuleList(GRUCell(width, settings.memory) for _ in range(2))
        self.action = Output(settings.memory, task.num_actions)
        self.value = Output(settings.memory, 1)

    def forward(self, decoded: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits and values of `(rows, ...)`, and what is remembered after them, `(rows, memory)`."""
        after = self._after(self._seen(decoded), memory)
        return *self._heads(after), after

    def _seen(self, decoded: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(decoded)
        return features, features if self.value_features is None else self.value_features(decoded)

    def _after(self, seen: tuple[Tensor, Tensor], memory: Tensor) -> Tensor:
        halves = zip(self.cells, seen, memory.chunk(2, 1), strict=True)
        return torch.cat([cell(features, before) for cell, features, before in halves], 1)

    def _heads(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        of_policy, of_value = memory.chunk(2, 1)
        return self.action(of_policy), self.value(of_value).squeeze(-1)

    def unrolled(self, decoded: Tensor, memory: Tensor, begins: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of sequences, `(L x S, ...)`, step after step.

        Args:
            decoded: `(L x S, ...)`, all sequences of a step one after the other.
            memory: `(S, memory)` before the first step.
            begins: `(L, S)` bool, where an episode begins with the step, and nothing is remembered.
        """
        seen, states = [each.view(*begins.shape, -1) for each in self._seen(decoded)], []
        for of_policy, of_value, begin in zip(*seen, begins, strict=True):
            memory = self._after((of_policy, of_value), memory.masked_fill(begin.unsqueeze(1), 0.0))
            states.append(memory)
        return self._heads(torch.cat(states))

    def initial_gains(self) -> dict[nn.Module, float]:
        """Return gains for which the initial policy is nearly uniform."""
        return {self.action: 0.01, self.value: 1.0}


def build_network(task: Task, settings: PpoSettings, dtype: torch.dtype = torch.float32) -> ActorCritic:
    """Return the network for the task's observation and actions, that computes in a type."""
    if settings.memory:
        return RecurrentNetwork(task, settings)
    if not is_image(task.observation):
        return PartsNetwork(task, settings) if task.observation.images else VectorNetwork(task, settings)
    return PixelNetwork(task) if is_large_image(task.observation) else BoardNetwork(task, settings, dtype)


INITIAL_DEVIATION = 0.5
"""The initial standard deviation of continuous actions, in the policy's unit (Andrychowicz et al., 2021)."""


class Evaluated(NamedTuple):
    """What a policy says of some decisions.

    Attributes:
        outputs: The distribution's outputs, `(rows, ...)`.
        values: `(rows,)`.
        gradients: Returns the gradient by each of the policy's parameters, in their order, from that by outputs and
            values.
    """

    outputs: Tensor
    values: Tensor
    gradients: Callable[[Tensor, Tensor], list[Tensor]]


class PpoPolicy(nn.Module):
    """Decodes stored rows and applies the network.

    Attributes:
        distribution: What the outputs mean.
        log_std: Logarithms of the standard deviations of continuous actions, for all observations; else None.
        decode: Decodes stored rows.
        mask: Decodes stored masks to what is added to the logits; None if every action is always legal.
        network: Maps decoded rows to logits and values.
        observations: Moments of the decoded observations, which normalize them; None if they are not normalized.
        rewards: Moments of the discounted returns, whose deviation scales rewards; None if they are not scaled.
        memory: Numbers that a recurrent policy remembers of an episode; 0 for one that decides by the observation.
        dtype: The type of products and activations. Outputs and what is remembered are float32 with all types.
    """

    def __init__(
        self, task: Task, settings: PpoSettings, generator: torch.Generator, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.distribution, self.dtype = distribution_of(task), dtype
        first = torch.full((len(task.bounds),), math.log(INITIAL_DEVIATION))
        self.log_std = nn.Parameter(first) if task.bounds else None
        self.decode = decoder(task.observation)
        self.mask = mask_decoder(task)
        self.network, self.memory = build_network(task, settings, dtype), 2 * settings.memory
        self.observations = _moments(task.observation) if settings.normalize_observation else None
        self.rewards = RunningMoments(()) if settings.normalize_reward else None
        self._trained: list[nn.Parameter] | None = None
        initialize(self.network, self.network.initial_gains(), generator)

    def forward(self, observation: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the distribution's outputs, masked logits `(rows, num_actions)` for choices, and values `(rows,)`.

        Args:
            observation: `(rows, *stored_shape)` as the buffer stores it.
            mask: `(rows, bytes)` of packed bits, 1 where an action is legal; None where all are.
        """
        logits, value = self.network(self._inputs(observation))
        return self._outputs(logits, mask), value

    def of_decoded(self, decoded: Tensor, mask: Tensor | None, memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return what `forward` does for observations that are decoded already, `(rows, ...)` float32."""
        inputs = self._normalized(decoded)
        logits, value = (self.network(inputs) if memory is None else self.network(inputs, memory))[:2]
        return self._outputs(logits, mask), value

    def evaluated(self, observation: Tensor, mask: Tensor | None) -> Evaluated:
        """Return what `forward` does, to be learned from."""
        if isinstance(self.network, VectorNetwork) and self.dtype == torch.float32:
            return self._evaluated_vectors(self.network, observation, mask)
        return self._differentiated(*self(observation, mask))

    def evaluated_sequences(
        self, observation: Tensor, mask: Tensor | None, memory: Tensor, begins: Tensor, taken: Tensor
    ) -> Evaluated:
        """Return what `unrolled` does of the steps with a decision, to be learned from.

        Args:
            taken: `(L x S,)` bool, where a decision was taken.
        """
        outputs, values = self.unrolled(observation, mask, memory, begins)
        return self._differentiated(outputs[taken], values[taken])

    def _differentiated(self, outputs: Tensor, values: Tensor) -> Evaluated:
        if self._trained is None:
            self._trained = list(self.parameters())  # which takes as long as a layer
        parameters = self._trained

        def gradients(of_outputs: Tensor, of_values: Tensor) -> list[Tensor]:
            return list(torch.autograd.grad((outputs, values), parameters, (of_outputs, of_values)))

        return Evaluated(outputs.detach(), values.detach(), gradients)

    @torch.no_grad()
    def _evaluated_vectors(self, network: VectorNetwork, observation: Tensor, mask: Tensor | None) -> Evaluated:
        """Return what `evaluated` does. Without autograd, a gradient step takes half of the time."""
        vectors = self._inputs(observation).flatten(1).contiguous()
        action, value = network.dense()
        logits, of_action = action(vectors)
        values, of_value = value(vectors)

        def gradients(of_outputs: Tensor, of_values: Tensor) -> list[Tensor]:
            found = []
            if self.log_std is not None:
                of_outputs, of_log_std = of_outputs.chunk(2, -1)
                found = [of_log_std.sum(0)]
            found += action.gradients(of_outputs, of_action)
            return found + value.gradients(of_values.unsqueeze(1), of_value)

        return Evaluated(self._outputs(logits, mask), values.squeeze(1), gradients)

    def remember(self, observation: Tensor, mask: Tensor | None, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return what `forward` does of a recurrent policy, and what it remembers afterwards, `(rows, memory)`.

        Args:
            memory: What it remembers before, 0 at the beginning of an episode.
        """
        logits, value, after = self.network(self._inputs(observation), memory)
        return self._outputs(logits, mask), value, after

    def unrolled(
        self, observation: Tensor, mask: Tensor | None, memory: Tensor, begins: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return what `forward` does of a recurrent policy for the steps of sequences, `(L x S, ...)`.

        Args:
            memory: `(S, memory)` before the first step.
            begins: `(L, S)` bool, where an episode begins with the step.
        """
        assert isinstance(self.network, RecurrentNetwork)
        logits, value = self.network.unrolled(self._inputs(observation), memory, begins)
        return self._outputs(logits, mask), value

    def value(self, observation: Tensor, memory: Tensor | None = None) -> Tensor:
        """Return values `(rows,)` alone; `memory` before the observation if the policy is recurrent."""
        inputs = self._inputs(observation)
        value: Tensor = (self.network(inputs) if memory is None else self.network(inputs, memory))[1]
        return value

    def _outputs(self, logits: Tensor, mask: Tensor | None) -> Tensor:
        logits = logits.to(torch.get_default_dtype())
        if self.mask is not None and mask is not None:
            logits = logits + self.mask(mask)
        if self.log_std is not None:
            logits = torch.cat((logits, self.log_std.expand_as(logits)), -1)
        return logits

    def _inputs(self, observation: Tensor) -> Tensor:
        if (
            self.observations is None
            and isinstance(self.network, BoardNetwork)
            and self.network.takes_bits(observation)
        ):
            return observation
        if self.observations is None:
            return self.decode(observation, self.dtype)  # type: ignore[no-any-return]
        return self._normalized(self.decode(observation))

    def _normalized(self, decoded: Tensor) -> Tensor:
        normalized: Tensor = decoded if self.observations is None else self.observations(decoded)
        return normalized.to(self.dtype)

    @property
    def value_unit(self) -> float | Tensor:
        """What one unit of a value is in the environment's rewards."""
        return 1.0 if self.rewards is None else self.rewards.deviation


def _moments(observation: Field) -> RunningMoments:
    """Return what normalizes decoded observations.

    Raises:
        BadParameter: Images are only a part of them.
    """
    if observation.images:
        raise BadParameter("ppo.normalize_observation: set it to false for images beside other observations")
    return ImageMoments(image_shape(observation)) if is_image(observation) else RunningMoments(observation.shape)
