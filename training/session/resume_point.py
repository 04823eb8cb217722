"""Where a training stands at the end of an iteration: what a checkpoint holds besides what its trainer learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...envs.fields import Array
from ..runs.checkpoint import Checkpoint

STATES = "environments.state"
SAVED = {"num_envs": int, "counters": dict, "data": dict}
"""What the data of every checkpoint has, and of which type."""


@dataclass(frozen=True)
class ResumePoint:
    """Where a training stood at the end of an iteration.

    Attributes:
        counters: What was counted by then, as `Counts.state` returns it.
        seconds: How long had been trained.
        num_envs: Number of environments N.
        states: Their states, `(N, *stored_shape)`; None where they cannot be saved.
    """

    counters: Mapping[str, Any]
    seconds: float
    num_envs: int
    states: Array | None

    def facts(self) -> dict[str, Any]:
        """Return what a checkpoint says of it, as JSON data; the states go among the tensors."""
        return {"num_envs": self.num_envs, "counters": dict(self.counters), "seconds": self.seconds}

    @classmethod
    def loaded(cls, found: Checkpoint) -> ResumePoint:
        """Return where the training stood that a checkpoint is of."""
        facts, states = found.data, found.tensors.get(STATES)
        kept = None if states is None else np.array(states)
        return cls(facts["counters"], facts.get("seconds", 0.0), facts["num_envs"], kept)
