"""What a checkpoint contains besides what the trainer learned: counters, time and states of the environments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...envs.fields import Array
from ..runs.checkpoint import Checkpoint

STATES = "environments.state"
SAVED = {"num_envs": int, "counters": dict, "data": dict}
"""The required keys of a checkpoint's data, and their types."""


@dataclass(frozen=True)
class ResumePoint:
    """A training at the end of an iteration, apart from what the trainer learned.

    Attributes:
        counters: What was counted, as `Counts.state` returns it.
        seconds: Seconds of training.
        num_envs: Number of environments N.
        states: Their states, `(N, *stored_shape)`; None where they cannot be saved.
    """

    counters: Mapping[str, Any]
    seconds: float
    num_envs: int
    states: Array | None

    def facts(self) -> dict[str, Any]:
        """Return the JSON data of a checkpoint; the states are saved with the tensors."""
        return {"num_envs": self.num_envs, "counters": dict(self.counters), "seconds": self.seconds}

    @classmethod
    def loaded(cls, found: Checkpoint) -> ResumePoint:
        """Return the resume point in a checkpoint."""
        facts, states = found.data, found.tensors.get(STATES)
        kept = None if states is None else np.array(states)
        return cls(facts["counters"], facts.get("seconds", 0.0), facts["num_envs"], kept)
