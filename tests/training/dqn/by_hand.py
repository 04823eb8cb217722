"""DQN and IQN computed in NumPy with float64, as an oracle for PyTorch."""

import numpy as np

from pac.training.dqn.settings import IqnSettings
from pac.training.replay.batches import Transitions

Weights = dict[str, np.ndarray]


def weights_of(network) -> Weights:
    """Return a network's weights."""
    return {name: value.detach().numpy().astype(np.float64) for name, value in network.state_dict().items()}


def layer(weights: Weights, name: str, x: np.ndarray) -> np.ndarray:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def torso(weights: Weights, x: np.ndarray) -> np.ndarray:
    for number in (1, 3):
        x = np.maximum(layer(weights, f"torso.{number}", x), 0)
    return x


def last(weights: Weights, x: np.ndarray) -> np.ndarray:
    values = layer(weights, "advantage", x)
    if "value.weight" in weights:
        values = values - values.mean(-1, keepdims=True) + layer(weights, "value", x)
    return values


def values(weights: Weights, x: np.ndarray) -> np.ndarray:
    """Return DQN's values `(B, actions)` of decoded observations."""
    return last(weights, torso(weights, x))


def quantiles(weights: Weights, x: np.ndarray, fractions: np.ndarray) -> np.ndarray:
    """Return IQN's quantiles `(B, n, actions)` of decoded observations at fractions `(B, n)`."""
    features, result = torso(weights, x), []
    count = weights["embedding.weight"].shape[1]
    for row, own in zip(features, fractions, strict=True):
        cosines = np.array([[np.cos(np.pi * i * fraction) for i in range(count)] for fraction in own])
        product = row * np.maximum(layer(weights, "embedding", cosines), 0)
        result.append(last(weights, np.maximum(layer(weights, "joint", product), 0)))
    return np.array(result)


def huber(error: np.ndarray, kappa: float = 1.0) -> np.ndarray:
    return np.where(np.abs(error) <= kappa, error**2 / 2, kappa * (np.abs(error) - kappa / 2))


def forbidden(batch: Transitions, actions: int) -> np.ndarray | float:
    if batch.masks is None:
        return 0.0
    return np.where(np.unpackbits(batch.masks, axis=1, bitorder="little")[:, :actions] == 1, 0, -1e9)


def dqn_targets(online: Weights, target: Weights, batch: Transitions, x: np.ndarray, *, double: bool) -> np.ndarray:
    """Return what the values of taken actions should be; `x` are the decoded observations that follow."""
    following = values(target, x)
    chosen = (values(online, x) if double else following) + forbidden(batch, following.shape[1])
    wanted: np.ndarray = batch.rewards + batch.discounts * following[np.arange(len(x)), chosen.argmax(1)]
    return wanted


def dqn_losses(
    online: Weights, batch: Transitions, x: np.ndarray, wanted: np.ndarray, *, is_huber: bool = True
) -> np.ndarray:
    error = values(online, x)[np.arange(len(x)), batch.actions] - wanted
    return huber(error) if is_huber else error**2


def iqn_targets(
    online: Weights, target: Weights, batch: Transitions, x: np.ndarray, *, fractions: np.ndarray, settings: IqnSettings
) -> np.ndarray:
    """Return the wanted quantiles `(B, N')` at fractions `(B, N')`."""
    k = settings.policy_fractions
    spaced = np.tile((np.arange(k) + 0.5) / k * settings.cvar, (len(x), 1))
    chosen = quantiles(online if settings.double else target, x, spaced).mean(1)
    best = (chosen + forbidden(batch, chosen.shape[1])).argmax(1)
    following = quantiles(target, x, fractions)[np.arange(len(x)), :, best]
    wanted: np.ndarray = batch.rewards[:, None] + batch.discounts[:, None] * following
    return wanted


def iqn_losses(
    online: Weights, batch: Transitions, x: np.ndarray, *, fractions: np.ndarray, wanted: np.ndarray, kappa: float
) -> np.ndarray:
    """Return equation 3 of the paper for each transition, with loops over both fractions."""
    own = quantiles(online, x, fractions)[np.arange(len(x)), :, batch.actions]
    losses = np.zeros(len(x))
    for i in range(own.shape[1]):
        for j in range(wanted.shape[1]):
            error = wanted[:, j] - own[:, i]
            losses += np.abs(fractions[:, i] - (error < 0)) * huber(error, kappa) / kappa / wanted.shape[1]
    return losses
