"""Distributions over actions as functions of a network's outputs, without objects that are built or validated per step.

There is one for each kind of action: one choice, several choices at once, or numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from ...envs import Task

LOG_2_PI = math.log(2 * math.pi)


class Likelihood(NamedTuple):
    """How likely actions are.

    Attributes:
        log_probability: `(rows,)`, or log-densities.
        entropy: `(rows,)`, in nats.
        slopes: Returns the gradient by the outputs, `(rows, ...)`, of the sum of both, weighted: log-probabilities by
            `(rows,)`, entropies by one number, a tensor without axes.
    """

    log_probability: Tensor
    entropy: Tensor
    slopes: Callable[[Tensor, Tensor], Tensor]


class Distribution(Protocol):
    """A policy's outputs `(rows, ...)` as a distribution over actions."""

    @property
    def numbers(self) -> int:
        """How many random numbers an action takes."""

    def sample(self, outputs: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
        """Return an action per row, and the actions' log-probabilities `(rows,)`.

        Args:
            outputs: The policy's outputs.
            uniform: `(rows, numbers)` independent random numbers, uniform in (0, 1].
        """

    def likelihood(self, outputs: Tensor, action: Tensor) -> Likelihood:
        """Return how likely each row's action is."""

    def best(self, outputs: Tensor) -> Tensor:
        """Return each row's most probable action."""


def sample(logits: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """Return an action per row of `(rows, actions)`, and the actions' log-probabilities; `uniform` is `(rows, 1)`.

    A random share in (0, 1] of the sum of p is looked up in the cumulative sums, which illegal actions do not raise.
    """
    probability = logits.softmax(-1)
    sums = probability.cumsum(-1)
    # NaN has no place in the sums. The learner refuses it later.
    action = torch.searchsorted(sums, uniform * sums[:, -1:]).clamp_(max=logits.shape[-1] - 1)
    return action.squeeze(-1), probability.gather(-1, action).log_().squeeze(-1)


def likelihood(logits: Tensor, action: Tensor) -> Likelihood:
    """Return how likely an action of each row of `(rows, actions)` is."""
    log_p, chosen = logits.log_softmax(-1), action.unsqueeze(-1)
    probability = logits.softmax(-1)  # not exp(log_p): the exponential of -1e9 is slow
    entropy = -(probability * log_p).sum(-1, keepdim=True)

    def slopes(of_log_probability: Tensor, of_entropy: Tensor) -> Tensor:
        of_chosen = of_log_probability.unsqueeze(-1)
        found = probability * ((log_p + entropy) * -of_entropy - of_chosen)
        return found.scatter_add_(-1, chosen, of_chosen)

    return Likelihood(log_p.gather(-1, chosen).squeeze(-1), entropy.squeeze(-1), slopes)


class Categorical:
    """One choice; the outputs are masked logits `(rows, num_actions)`."""

    numbers = 1
    sample = staticmethod(sample)
    likelihood = staticmethod(likelihood)

    def best(self, outputs: Tensor) -> Tensor:
        """Return each row's most probable action."""
        return outputs.argmax(-1)


@dataclass(frozen=True)
class Product:
    """Several independent choices; the outputs are their masked logits, concatenated.

    Attributes:
        choices: The number of choices of each component.
    """

    choices: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """How many random numbers an action takes: one per component."""
        return len(self.choices)

    def parts(self, outputs: Tensor) -> tuple[Tensor, ...]:
        """Return the logits of each component."""
        return torch.split_with_sizes(outputs, self.choices, -1)

    def sample(self, outputs: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
        """Return actions `(rows, components)` and their log-probabilities."""
        drawn = [sample(*part) for part in zip(self.parts(outputs), uniform.unsqueeze(-1).unbind(-2), strict=True)]
        actions, logprobs = zip(*drawn, strict=True)
        return torch.stack(actions, -1), torch.stack(logprobs, -1).sum(-1)

    def likelihood(self, outputs: Tensor, action: Tensor) -> Likelihood:
        """Return the sums over the components."""
        found = [likelihood(*part) for part in zip(self.parts(outputs), action.unbind(-1), strict=True)]
        log_probability = torch.stack([part.log_probability for part in found], -1).sum(-1)
        entropy = torch.stack([part.entropy for part in found], -1).sum(-1)
        return Likelihood(
            log_probability, entropy, lambda *weights: torch.cat([part.slopes(*weights) for part in found], -1)
        )

    def best(self, outputs: Tensor) -> Tensor:
        """Return each component's most probable choice."""
        return torch.stack([logits.argmax(-1) for logits in self.parts(outputs)], -1)


@dataclass(frozen=True)
class Gaussian:
    """Independent normal numbers; the outputs are their means, then the logarithms of their standard deviations.

    Attributes:
        size: How many numbers an action has, K.
    """

    size: int

    @property
    def numbers(self) -> int:
        """How many random numbers an action takes: two per normal number, see `normal`."""
        return 2 * self.size

    def sample(self, outputs: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
        """Return numbers `(rows, K)` and their log-densities."""
        mean, log_std = outputs.chunk(2, -1)
        noise = normal(*uniform.chunk(2, -1))
        return mean + noise * log_std.exp(), -(0.5 * (noise.square() + LOG_2_PI) + log_std).sum(-1)

    def likelihood(self, outputs: Tensor, action: Tensor) -> Likelihood:
        """Return the log-density of each row's numbers, and the differential entropy."""
        mean, log_std = outputs.chunk(2, -1)
        inverse = (-log_std).exp()
        noise = (action - mean) * inverse

        def slopes(of_log_probability: Tensor, of_entropy: Tensor) -> Tensor:
            of_density = of_log_probability.unsqueeze(-1)
            return torch.cat((of_density * noise * inverse, of_density * (noise.square() - 1) + of_entropy), -1)

        logprob = -(0.5 * (noise.square() + LOG_2_PI) + log_std).sum(-1)
        return Likelihood(logprob, (log_std + 0.5 * (1 + LOG_2_PI)).sum(-1), slopes)

    def best(self, outputs: Tensor) -> Tensor:
        """Return the means."""
        return outputs.chunk(2, -1)[0]

    def deviations(self, outputs: Tensor) -> Tensor:
        return outputs.chunk(2, -1)[1].exp()


def normal(radius: Tensor, angle: Tensor) -> Tensor:
    """Return normal numbers from two independent uniform ones of (0, 1] for each (Box and Muller, 1958)."""
    return (-2 * radius.log()).sqrt() * (2 * math.pi * angle).cos()


def distribution_of(task: Task) -> Distribution:
    """Return the distribution that fits the task's actions."""
    if task.bounds:
        return Gaussian(len(task.bounds))
    return Product(task.choices) if task.choices else Categorical()


GOLDEN, MIX_1, MIX_2 = 0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB
ACTIONS = 0x6163_7469_6F6E_7321
"""Makes these streams differ from all others of the same seed."""
BITS = 24
"""Random bits of a number: as many as float32 has."""


class ActionNoise:
    """The random numbers of some environments' actions.

    Args:
        seed: The run's seed.
        first_env: The number of the first environment among those of all processes.
        num_envs: Number of environments.
        players: Seats of an environment.
        device: Where to compute them.
    """

    def __init__(
        self, seed: int, *, first_env: int, num_envs: int, players: int, numbers: int, device: torch.device
    ) -> None:
        rows = torch.arange(first_env * players, (first_env + num_envs) * players, device=device)
        start = _mixed(torch.tensor([_signed(seed ^ ACTIONS)], device=device) + _signed(GOLDEN))
        self._streams = _mixed(start + rows + _signed(GOLDEN)).unsqueeze(1)
        self._numbers = numbers

    def uniform(self, first_step: int | Tensor, steps: int) -> Tensor:
        """Return `(steps, rows, numbers)` float32, uniform in (0, 1], of some steps of the training.

        Args:
            first_step: The number of the first one; on the device, a tensor without axes, int64.
        """
        places = torch.arange(1, steps * self._numbers + 1, device=self._streams.device) + first_step * self._numbers
        places = places.view(steps, 1, self._numbers)
        words = _mixed(places * _signed(GOLDEN) + self._streams)
        return (_shifted(words, 64 - BITS) + 1).float().mul_(2.0**-BITS)


def _mixed(words: Tensor) -> Tensor:
    """Return int64 words through the finalizer of SplitMix64; int64 multiplication wraps as that of uint64 does."""
    words = (words ^ _shifted(words, 30)) * _signed(MIX_1)
    words = (words ^ _shifted(words, 27)) * _signed(MIX_2)
    return words ^ _shifted(words, 31)


def _shifted(words: Tensor, bits: int) -> Tensor:
    """Shift int64 words to the right as if they were unsigned."""
    return (words >> bits) & ((1 << (64 - bits)) - 1)


def _signed(word: int) -> int:
    """Return the int64 with the same 64 bits."""
    return (word + 2**63) % 2**64 - 2**63
