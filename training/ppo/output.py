"""What the policy thought of one row, for a person."""

from __future__ import annotations

from torch import Tensor

from ..trainer import PolicyOutput

SHOWN = 5


def policy_output(logits: Tensor, value: Tensor) -> PolicyOutput:
    """Return the likeliest actions of one row's masked logits `(num_actions,)`, the entropy and the value."""
    log_p = logits.float().log_softmax(-1)
    probability = log_p.exp()
    top = probability.topk(min(SHOWN, len(probability)))
    return PolicyOutput(
        value=float(value),
        entropy=float(-(probability * log_p).sum()),
        actions=top.indices.tolist(),
        probabilities=top.values.tolist(),
    )
