"""SAC computed in NumPy with float64, as an oracle for PyTorch."""

import numpy as np

from pac.training.replay.batches import Transitions

from ..dqn.by_hand import Weights, layer


def network(weights: Weights, name: str, x: np.ndarray) -> np.ndarray:
    """Return the outputs of fully connected layers with rectifiers between them."""
    count = sum(key.startswith(f"{name}.") and key.endswith("weight") for key in weights)
    for number in range(count):
        x = layer(weights, f"{name}.{number}", x if number == 0 else np.maximum(x, 0))
    return x


def density(weights: Weights, x: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the log-density of actions between -1 and 1: that of atanh(action), changed by the slope of tanh."""
    mean, log_std = np.split(network(weights, "actor", x), 2, axis=1)
    log_std = np.clip(log_std, -20, 2)
    normal = -(((np.arctanh(actions) - mean) / np.exp(log_std)) ** 2) / 2 - log_std - np.log(2 * np.pi) / 2
    found: np.ndarray = (normal - np.log(1 - actions**2)).sum(1)
    return found


def drawn(weights: Weights, x: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return actions between -1 and 1, and their log-densities."""
    mean, log_std = np.split(network(weights, "actor", x), 2, axis=1)
    actions = np.tanh(mean + np.exp(np.clip(log_std, -20, 2)) * normal)
    return actions, density(weights, x, actions)


def critics(weights: Weights, x: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return both values, `(2, B)`; `weights` has them below `critics.` or `0.` and `1.`."""
    both = np.concatenate([x, actions], 1)
    before = "critics." if "log_alpha" in weights else ""
    return np.stack([network(weights, f"{before}{number}", both)[:, 0] for number in range(2)])


def wanted(weights: Weights, target: Weights, batch: Transitions, normal: np.ndarray) -> np.ndarray:
    """Return what values should be."""
    actions, log_density = drawn(weights, batch.following, normal)
    value = critics(target, batch.following, actions).min(0) - np.exp(weights["log_alpha"]) * log_density
    found: np.ndarray = batch.rewards + batch.discounts * value
    return found


def critic_loss(weights: Weights, batch: Transitions, actions: np.ndarray, targets: np.ndarray) -> float:
    """Return the loss of both critics; `actions` are those of the batch, between -1 and 1."""
    return float(((critics(weights, batch.observations, actions) - targets) ** 2).mean(1).sum() / 2)


def actor_loss(weights: Weights, batch: Transitions, normal: np.ndarray) -> float:
    actions, log_density = drawn(weights, batch.observations, normal)
    value = critics(weights, batch.observations, actions).min(0)
    return float((np.exp(weights["log_alpha"]) * log_density - value).mean())


def alpha_loss(weights: Weights, batch: Transitions, normal: np.ndarray, entropy: float) -> float:
    return float((-weights["log_alpha"] * (drawn(weights, batch.observations, normal)[1] + entropy)).mean())
