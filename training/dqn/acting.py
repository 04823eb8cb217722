"""From values to actions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..nets.decoding import FORBIDDEN
from ..nets.distribution import sample
from ..trainer import PolicyOutput
from .networks import QNetwork
from .settings import IqnSettings, QLearningSettings

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
