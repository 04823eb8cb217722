"""The learner of SAC (Haarnoja et al., 2018): gradient steps of policy, critics and temperature."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor

from ...envs import Task, episode_seed
from ...envs.fields import Array
from ..nets.device_buffer import ActionScale
from ..nets.gradient_step import norm_of
from ..nets.weights import ADAM, POLICY, Adam, copied, load_tensors, load_weights, placed
from ..replay.batches import joined
from ..replay.source import ReplaySource
from ..replay.tensors import TransitionTensors
from ..settings import scheduled
from .networks import SacNetwork, dense, squashed
from .settings import SacSettings

STATISTICS = ("critic_loss", "actor_loss", "alpha", "entropy", "value_mean", "grad_norm")
TARGET = "target."
"""What the names of the target critics' tensors begin with in a checkpoint."""
NORMAL = 0x6E6F_726D_616C_7321
"""Makes the normal numbers differ from all other random numbers of the same seed."""
EPSILON = 1e-8


class Gradients(NamedTuple):
    """The gradients of all parameters in their order, and means of the `STATISTICS` but the last one."""

    gradients: list[Tensor]
    statistics: Tensor


class SacLearner:
    """Learns a policy and its values. It neither acts nor knows the environments.

    All parameters take a step at once: the policy's gradient is that of the critics before their step.

    Args:
        settings: The settings.
        device: Where the networks are.
        seed: Seeds the weights and the actions that are drawn for gradient steps.

    Attributes:
        network: The networks that learn.
        source: Where it draws transitions from.
        updates: Gradient steps so far.
    """

    statistics: tuple[str, ...] = STATISTICS

    def __init__(self, task: Task, settings: SacSettings, device: torch.device, seed: int) -> None:
        self._device, self._seed = device, seed
        self.network = placed(SacNetwork(task, settings, torch.Generator().manual_seed(seed)), device)
        self._target = deepcopy(self.network.critics).requires_grad_(requires_grad=False)
        self._actor = dense(self.network.actor, device)
        self._critics, self._targets = (
            [dense(layers, device) for layers in critics] for critics in (self.network.critics, self._target)
        )
        self._adam = Adam(self.network, epsilon=EPSILON, fused=device.type in {"cpu", "cuda"})
        self._online: list[Tensor] = list(self.network.critics.parameters())
        self._copied: list[Tensor] = list(self._target.parameters())
        self._scale, self._numbers = ActionScale(task, device), len(task.bounds)
        self.change_settings(settings)
        self._generator = torch.Generator(device)
        self.source, self.updates = ReplaySource(), 0

    @property
    def learning_rate(self) -> float:
        """The learning rate of the last gradient step."""
        return self._adam.learning_rate

    def change_settings(self, settings: SacSettings) -> None:
        """Use other settings from the next gradient step on."""
        self._settings = settings
        self._wanted_entropy = settings.target_entropy * self._numbers

    @torch.no_grad()
    def update(self, decisions: int) -> Array:
        """Take a gradient step on transitions drawn from the replay; return the `STATISTICS`.

        Args:
            decisions: Decisions collected so far, which schedules depend on.

        Raises:
            NothingToSample: The replay contains no transition.
        """
        drawn = joined([part for _, part in self.source.sample(self._settings.batch)])
        gradients, statistics = self.gradients(TransitionTensors.of(drawn, self._device), self.normal(self.updates))
        norm = norm_of(gradients)
        self._adam.learning_rate = scheduled(self._settings.learning_rate, decisions)
        self._adam.step(gradients)
        torch._foreach_lerp_(self._copied, self._online, self._settings.tau)
        self.updates += 1
        found: Array = torch.cat((statistics, norm.unsqueeze(0))).cpu().numpy()
        return found

    def normal(self, updates: int) -> Tensor:
        """Return the normal numbers of a gradient step `(2 B, K)`: for observations, and for those that follow."""
        self._generator.manual_seed(episode_seed(self._seed ^ NORMAL, 0, updates))
        shape = 2 * self._settings.batch, self._numbers
        return torch.randn(shape, generator=self._generator, device=self._device)

    @torch.no_grad()
    def gradients(self, batch: TransitionTensors, normal: Tensor) -> Gradients:
        """Return the gradients of the losses; `normal` is from the method of that name."""
        count, network = len(batch.rewards), self.network
        alpha = network.log_alpha.exp()
        wanted = self._wanted(batch, normal[count:], alpha)
        before, taken = network.observed(batch.observations), self._scale.of_policy(batch.actions)
        of_critics: list[Tensor] = []
        losses, means = [], []
        both = torch.cat((before, taken), 1)
        for critic in self._critics:
            values, kept = critic(both)
            error = values.squeeze(1) - wanted
            of_critics += critic.gradients((error / count).unsqueeze(1), kept)
            losses.append(error.square().mean())
            means.append(values.mean())
        outputs, inputs = self._actor(before)
        drawn = squashed(outputs, normal[:count])
        (first, of_first), (second, of_second) = (
            critic(torch.cat((before, drawn.actions), 1)) for critic in self._critics
        )
        share = (first < second).float() / -count
        of_actions = self._critics[0].slopes(share, of_first) + self._critics[1].slopes(-1 / count - share, of_second)
        of_actor = self._actor.gradients(drawn.slopes(of_actions[:, before.shape[1] :], alpha / count), inputs)
        entropy = -drawn.log_densities.mean()
        least = torch.minimum(first, second).mean()
        statistics = torch.stack(((losses[0] + losses[1]) / 2, -(alpha * entropy + least), alpha, entropy, means[0]))
        # In the order of the network's parameters, the temperature first.
        return Gradients([entropy - self._wanted_entropy, *of_actor, *of_critics], statistics)

    def _wanted(self, batch: TransitionTensors, normal: Tensor, alpha: Tensor) -> Tensor:
        """Return what values should be, `(B,)`: rewards, and the least value of the next action with its entropy."""
        observed = self.network.observed(batch.following)
        drawn = squashed(self._actor(observed)[0], normal)
        both = torch.cat((observed, drawn.actions), 1)
        least = torch.minimum(*(target(both)[0].squeeze(1) for target in self._targets))
        return torch.addcmul(batch.rewards, batch.discounts, least - alpha * drawn.log_densities)

    def outputs(self, stored: Tensor) -> Tensor:
        """Return the policy's outputs `(rows, 2 K)` for stored observations."""
        return self._actor(self.network.observed(stored))[0]

    def values(self, stored: Tensor, actions: Tensor) -> Tensor:
        """Return what each critic expects of actions in the environment's unit, `(critics, rows)`."""
        both = torch.cat((self.network.observed(stored), self._scale.of_policy(actions)), 1)
        return torch.stack([critic(both)[0].squeeze(1) for critic in self._critics])

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights, the target critics and Adam's moments under their names in a checkpoint, not copied."""
        return {
            **{POLICY + name: value for name, value in self.network.state_dict().items()},
            **{ADAM + name: value for name, value in self._adam.state().items()},
            **{TARGET + name: value for name, value in self._target.state_dict().items()},
        }

    def state(self) -> dict[str, Tensor]:
        """Return copies of `tensors` and of the state of the random generator that draws transitions."""
        return {name: copied(value) for name, value in self.tensors().items()} | self.source.state()

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; the random generator continues with the next replay.

        Raises:
            WrongCheckpoint: It is of another network.
        """
        load_tensors(self.network, self._adam, tensors)
        load_weights(self._target, tensors, TARGET)
        self.source.load_state(tensors)
