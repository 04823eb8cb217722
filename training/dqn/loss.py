"""The losses of DQN and IQN."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from ..nets.dense import DenseLayers
from ..nets.distribution import ActionNoise
from ..replay.tensors import TransitionTensors
from .networks import IqnNetwork, QNetwork, VectorFeatures
from .settings import DqnSettings, IqnSettings

FRACTIONS = 0x6672_6163_7469_6F6E
"""Makes the random fractions differ from all other random numbers of the same seed."""


class Losses(NamedTuple):
    """The losses of B transitions, all `(B,)`.

    Attributes:
        losses: What is minimized.
        values: The values of the taken actions.
        errors: How surprising the transitions are, for their priorities.
    """

    losses: Tensor
    values: Tensor
    errors: Tensor


class Objective(ABC):
    """What a gradient step minimizes. It is computed in two parts, because threads compute rows of the second one."""

    @abstractmethod
    def targets(self, batch: TransitionTensors, online: QNetwork, target: QNetwork, updates: int) -> tuple[Tensor, ...]:
        """Return what `losses` needs beside observations and actions, each `(B, ...)`, without gradients.

        Args:
            online: The network that learns.
            target: The network whose values are used.
            updates: Gradient steps so far, which random numbers depend on.
        """

    @abstractmethod
    def losses(self, online: QNetwork, observations: Tensor, actions: Tensor, *targets: Tensor) -> Losses:
        """Return the losses of some rows."""


class DqnObjective(Objective):
    """The squared or the Huber loss of the value of the taken action (Mnih et al., 2015).

    Args:
        settings: Says which loss, and whether `online` chooses the next action (van Hasselt et al., 2016).
    """

    def __init__(self, settings: DqnSettings) -> None:
        self._double, self._huber = settings.double, settings.huber_loss

    @torch.no_grad()
    def targets(
        self,
        batch: TransitionTensors,
        online: QNetwork,
        target: QNetwork,
        updates: int,  # noqa: ARG002
    ) -> tuple[Tensor, ...]:
        """Return what the values should be, `(B,)`: rewards plus the discounted value that follows."""
        values = target(batch.following, batch.masks)
        if self._double:
            best = online(batch.following, batch.masks).argmax(-1, keepdim=True)
            following = values.gather(-1, best).squeeze(-1)
        else:
            following = values.amax(-1)
        return (torch.addcmul(batch.rewards, batch.discounts, following),)

    def losses(self, online: QNetwork, observations: Tensor, actions: Tensor, *targets: Tensor) -> Losses:
        """Return the losses; an error is the absolute difference of value and target."""
        (wanted,) = targets
        return self.of(online(observations).gather(-1, actions.unsqueeze(-1)).squeeze(-1), wanted)

    def of(self, taken: Tensor, wanted: Tensor) -> Losses:
        """Return the losses of the values of the taken actions."""
        loss = functional.smooth_l1_loss if self._huber else functional.mse_loss
        return Losses(loss(taken, wanted, reduction="none"), taken.detach(), (taken.detach() - wanted).abs())

    def slopes(self, taken: Tensor, wanted: Tensor) -> Tensor:
        """Return the derivatives of the losses with respect to the values of the taken actions."""
        error = taken - wanted
        return error.clamp_(-1.0, 1.0) if self._huber else error.mul_(2.0)


class IqnObjective(Objective):
    """The quantile Huber loss between quantiles at random fractions (Dabney et al., 2018, equation 3).

    Args:
        settings: The numbers of fractions, kappa, and whether `online` chooses the next action.
        seed: Fractions are a function of it and of the number of gradient steps.
        device: Where the networks are.
    """

    def __init__(self, settings: IqnSettings, seed: int, device: torch.device) -> None:
        self._settings = settings
        self._noise = ActionNoise(
            seed ^ FRACTIONS,
            first_env=0,
            num_envs=settings.batch,
            players=1,
            numbers=settings.fractions + settings.target_fractions,
            device=device,
        )

    def fractions(self, updates: int) -> tuple[Tensor, Tensor]:
        """Return those of a gradient step, in (0, 1]: `(B, N)` of the quantiles that learn, `(B, N')` of the target."""
        drawn = self._noise.uniform(updates, 1)[0]
        own, targets = drawn.tensor_split([self._settings.fractions], 1)
        return own, targets

    @torch.no_grad()
    def targets(self, batch: TransitionTensors, online: QNetwork, target: QNetwork, updates: int) -> tuple[Tensor, ...]:
        """Return the wanted quantiles `(B, N')`, and the fractions `(B, N)` of those that learn."""
        assert isinstance(target, IqnNetwork)
        fractions, target_fractions = self.fractions(updates)
        features = target.features(batch.following)
        if self._settings.double:
            values = online(batch.following, batch.masks)
        else:
            values = target.values(features, batch.masks)[0]
        quantiles = _taken(target.quantiles(features, target_fractions), values.argmax(-1))
        wanted = torch.addcmul(batch.rewards.unsqueeze(1), batch.discounts.unsqueeze(1), quantiles)
        return wanted, fractions

    def losses(self, online: QNetwork, observations: Tensor, actions: Tensor, *targets: Tensor) -> Losses:
        """Return the losses; they are the errors too."""
        assert isinstance(online, IqnNetwork)
        wanted, fractions = targets
        quantiles = _taken(online.quantiles(online.features(observations), fractions), actions)
        losses = quantile_huber_loss(quantiles, fractions, wanted, self._settings.kappa)
        return Losses(losses, quantiles.detach().mean(1), losses.detach())


def quantile_huber_loss(quantiles: Tensor, fractions: Tensor, wanted: Tensor, kappa: float) -> Tensor:
    """Return the losses `(B,)`: sums over the N quantiles of means over the N' wanted ones.

    Args:
        quantiles: `(B, N)`.
        fractions: Their fractions, `(B, N)`.
        wanted: `(B, N')`.
        kappa: Errors above it count linearly.
    """
    errors = wanted.unsqueeze(1) - quantiles.unsqueeze(2)
    size = errors.detach().abs()
    huber = torch.where(size <= kappa, errors.square() * (0.5 / kappa), errors.abs() - 0.5 * kappa)
    weights = (fractions.unsqueeze(2) - (errors.detach() < 0).float()).abs()
    return (weights * huber).mean(2).sum(1)


def _taken(quantiles: Tensor, actions: Tensor) -> Tensor:
    """Return the quantiles `(B, n)` of one action each, of `(B, n, actions)`."""
    index = actions.view(-1, 1, 1).expand(-1, quantiles.shape[1], 1)
    return quantiles.gather(2, index).squeeze(2)


class DenseGradient:
    """The gradient of a network of fully connected layers with rectifiers between them.

    Args:
        network: The network, see `fits`.
        objective: The loss.
    """

    def __init__(self, network: QNetwork, objective: DqnObjective) -> None:
        assert isinstance(network.torso, VectorFeatures)
        self._network, self._objective = network, objective
        self._layers = DenseLayers([*network.torso.layers, network.advantage])

    @staticmethod
    def fits(network: QNetwork) -> bool:
        return type(network) is QNetwork and isinstance(network.torso, VectorFeatures) and network.value is None

    @torch.no_grad()
    def __call__(
        self, observations: Tensor, actions: Tensor, wanted: Tensor, weights: Tensor | None
    ) -> tuple[list[Tensor], Losses]:
        """Return the gradient of the mean loss for each parameter, in their order, and the losses without weights.

        Args:
            observations: `(B, *stored_shape)`.
            actions: `(B,)`.
            wanted: What the values of the actions should be, `(B,)`.
            weights: The weights of the losses, `(B,)`; None if all are 1.
        """
        values, inputs = self._layers(self._network.decoded(observations).flatten(1))
        index = actions.unsqueeze(-1)
        taken = values.gather(-1, index).squeeze(-1)
        slopes = self._objective.slopes(taken, wanted) / len(actions)
        if weights is not None:
            slopes *= weights
        back = torch.zeros_like(values).scatter_(1, index, slopes.unsqueeze(-1))
        return self._layers.gradients(back, inputs), self._objective.of(taken, wanted)
