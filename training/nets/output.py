"""The policy's output for one row, as the app shows it."""

from __future__ import annotations

from torch import Tensor

from ..trainer import PolicyOutput
from .device_buffer import ActionScale
from .distribution import Distribution, Gaussian, Product

SHOWN = 5


def policy_output(distribution: Distribution, scale: ActionScale, outputs: Tensor, value: Tensor) -> PolicyOutput:
    """Return the most probable actions or the expected numbers of one row, with the entropy and the value."""
    row = outputs.float().unsqueeze(0)
    best = distribution.best(row)
    entropy = distribution.log_probability_and_entropy(row, best)[1]
    if isinstance(distribution, Gaussian):
        means, deviations = scale.of_environment(best), scale.reach(distribution.deviations(row))
        return PolicyOutput(float(value), float(entropy), (), (), means[0].tolist(), deviations[0].tolist())
    if isinstance(distribution, Product):
        parts = [logits.softmax(-1).max() for logits in distribution.parts(row)]
        return PolicyOutput(float(value), float(entropy), best[0].tolist(), [float(part) for part in parts])
    top = row[0].softmax(-1).topk(min(SHOWN, row.shape[-1]))
    return PolicyOutput(float(value), float(entropy), top.indices.tolist(), top.values.tolist())
