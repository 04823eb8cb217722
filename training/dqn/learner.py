"""The learner of DQN and IQN: two networks, an optimizer, and gradient steps on transitions drawn from a replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from ...envs import Task
from ...envs.fields import Array
from ..nets.compute_threads import ComputeThreads
from ..nets.gradient_step import GradientStep
from ..nets.weights import ADAM, POLICY, Adam, copied, load_tensors, load_weights, placed
from ..ranks import Ranks, SingleRank
from ..replay.batches import Transitions, joined
from ..replay.replay import Replay
from ..replay.source import ReplaySource
from ..replay.tensors import TransitionTensors
from ..settings import scheduled
from .loss import DenseGradient, DqnObjective, IqnObjective, Losses, Objective
from .networks import IqnNetwork, QNetwork
from .settings import DqnSettings, IqnSettings, QLearningSettings

STATISTICS = ("loss", "value_mean", "grad_norm")
"""What a gradient step returns."""
TARGET = "target."
"""What the names of the target network's tensors begin with in a checkpoint."""
ROWS_AT_ONCE = 64
"""Rows whose activations a thread computes at once."""
MOST_DENSE_ROWS = 512
"""Up to this batch, the gradient of a fully connected network is faster in one thread and without autograd."""


class QLearner:
    """Learns the values of actions. It neither acts nor knows the environments, so it can run in any process.

    Args:
        settings: The settings, which decide between DQN and IQN.
        device: Where the networks are.
        seed: Seeds the weights and the fractions of IQN.
        ranks: Processes that add their gradients.
        lap: Called with the phase that has ended: `sample` or `gradient step`.

    Attributes:
        online: The network that learns.
        source: Where it draws transitions from.
        updates: Gradient steps so far.
    """

    statistics: tuple[str, ...] = STATISTICS

    def __init__(
        self,
        task: Task,
        settings: QLearningSettings,
        device: torch.device,
        seed: int,
        *,
        ranks: Ranks | None = None,
        lap: Callable[[str], None] = lambda _phase: None,
    ) -> None:
        self._settings, self._device, self._lap = settings, device, lap
        self._objective, network = _algorithm(settings, seed, device)
        self.online = placed(network(task, settings, torch.Generator().manual_seed(seed)), device)
        self._target = deepcopy(self.online).requires_grad_(requires_grad=False)
        self._adam = Adam(self.online, fused=device.type in {"cpu", "cuda"})
        self._gradients = GradientStep(
            self._adam,
            ComputeThreads(device, settings.threads),
            ranks or SingleRank(),
            rows_at_once=ROWS_AT_ONCE,
            max_norm=settings.max_grad_norm,
            statistics=len(STATISTICS) - 1,
        )
        self.updates = 0
        self._dense = self._dense_gradient(device)
        self.source = ReplaySource()

    @property
    def learning_rate(self) -> float:
        """The learning rate of the last gradient step."""
        return self._adam.learning_rate

    def change_settings(self, settings: QLearningSettings) -> None:
        """Use other settings from the next gradient step on."""
        self._settings = settings
        self._gradients = replace(self._gradients, max_norm=settings.max_grad_norm)

    def update(self, decisions: int) -> Array:
        """Take a gradient step on transitions drawn from the replay; return the `STATISTICS`.

        Args:
            decisions: Decisions collected so far, which schedules depend on.

        Raises:
            NothingToSample: The replay contains no transition.
        """
        settings = self._settings
        parts = self.source.sample(settings.batch)
        drawn = joined([part for _, part in parts])
        self._lap("sample")
        batch = TransitionTensors.of(drawn, self._device)
        weights, errors = self._weights(drawn, decisions), torch.empty(settings.batch, device=self._device)
        targets = self._objective.targets(batch, self.online, self._target, self.updates)

        def gradient(rows: Tensor, share: float) -> tuple[list[Tensor], Tensor]:
            found = self._objective.losses(
                self.online, batch.observations[rows], batch.actions[rows], *(each[rows] for each in targets)
            )
            errors[rows] = found.errors
            mean, others = _statistics(found, None if weights is None else weights[rows])
            return list(torch.autograd.grad(mean * share, self._adam.parameters)), others

        self._adam.learning_rate = scheduled(settings.learning_rate, decisions)
        if self._dense is None:
            found = self._gradients.take(gradient, torch.arange(settings.batch, device=self._device), settings.batch)
        else:
            gradients, losses = self._dense(batch.observations, batch.actions, targets[0], weights)
            found = self._gradients.apply(gradients, _statistics(losses, weights)[1])
            errors = losses.errors
        self.updates += 1
        if weights is not None:
            _learn_priorities(parts, errors.cpu().numpy())
        statistics: Array = found.cpu().numpy()
        self._lap("gradient step")
        return statistics

    def _dense_gradient(self, device: torch.device) -> DenseGradient | None:
        """Return how to compute the gradient without autograd; None if the network or the device does not allow it."""
        objective = self._objective
        if device.type != "cpu" or not isinstance(objective, DqnObjective) or not DenseGradient.fits(self.online):
            return None
        return DenseGradient(self.online, objective) if self._settings.batch <= MOST_DENSE_ROWS else None

    def _weights(self, drawn: Transitions, decisions: int) -> Tensor | None:
        """Return the importance-sampling weights `(B,)`, the largest of which is 1; None if sampling is uniform."""
        if drawn.densities is None:
            return None
        beta = scheduled(self._settings.priority_beta, decisions)
        weights = (drawn.densities / drawn.densities.min()) ** -beta
        return torch.from_numpy(weights.astype(np.float32)).to(self._device)

    @torch.no_grad()
    def update_target(self) -> None:
        """Copy the share `tau` of the weights to the target network."""
        own: list[Tensor] = list(self._target.parameters())
        torch._foreach_lerp_(own, list(self.online.parameters()), self._settings.tau)

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights, the target network and Adam's moments under their names in a checkpoint, not copied."""
        return {
            **{POLICY + name: value for name, value in self.online.state_dict().items()},
            **{ADAM + name: value for name, value in self._adam.state().items()},
            **{TARGET + name: value for name, value in self._target.state_dict().items()},
        }

    def state(self) -> dict[str, Tensor]:
        """Return copies of the weights, the target network, Adam's moments and the state of the random generator."""
        return {name: copied(value) for name, value in self.tensors().items()} | self.source.state()

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Load what `tensors` returned.

        Raises:
            WrongCheckpoint: They are of another network.
        """
        load_tensors(self.online, self._adam, tensors)
        load_weights(self._target, tensors, TARGET)

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; the random generator continues with the next replay.

        Raises:
            WrongCheckpoint: It is of another network.
        """
        self.load_tensors(tensors)
        self.source.load_state(tensors)


def _algorithm(settings: QLearningSettings, seed: int, device: torch.device) -> tuple[Objective, type[QNetwork]]:
    if isinstance(settings, IqnSettings):
        return IqnObjective(settings, seed, device), IqnNetwork
    assert isinstance(settings, DqnSettings)
    return DqnObjective(settings), QNetwork


def _statistics(found: Losses, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the mean loss, and the statistics of `STATISTICS` but the last one."""
    mean = (found.losses if weights is None else found.losses * weights).mean()
    return mean, torch.stack((mean.detach(), found.values.mean()))


def _learn_priorities(parts: Sequence[tuple[Replay, Transitions]], errors: Array) -> None:
    """Set the priorities of what was drawn from each replay."""
    ends = np.cumsum([len(drawn.places) for _, drawn in parts])
    for (replay, drawn), own in zip(parts, np.split(errors, ends[:-1]), strict=True):
        replay.learn_priorities(drawn, own)
