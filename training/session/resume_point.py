"""What a training continues from, besides the state of its trainer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...envs.errors import brief
from ...envs.fields import Array
from ..limits import MAX_ENVS
from ..runs.checkpoint import Checkpoint
from ..telemetry.counts import TOTALS

MAX_SECONDS = 1e10
"""Limit of the seconds of a training: three centuries."""
STATES = "environments.state"


@dataclass(frozen=True)
class ResumePoint:
    """A training at the end of an iteration, without the state of the trainer.

    Attributes:
        counters: The counters, as `Counts.state` returns them.
        seconds: Seconds of training.
        num_envs: Number of environments N.
        states: Their states, `(N, *stored_shape)`; None if they cannot be saved.
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
        """Return the resume point in a checkpoint.

        Raises:
            ValueError: A number is not one that a session has counted. Other errors: something has another form.
        """
        facts, states = found.data, found.tensors.get(STATES)
        counters, seconds, num_envs = facts["counters"], facts.get("seconds", 0.0), facts["num_envs"]
        counted = [num_envs, *(counters[name] for name in TOTALS), *counters.get("outcomes", {}).values()]
        if not all(type(number) is int and 0 <= number < 2**63 for number in counted) or not 0 < num_envs <= MAX_ENVS:
            raise ValueError(f"a count is not a whole number of its range: {brief(counted)}")
        if not 0 <= seconds < MAX_SECONDS:
            raise ValueError(f"it was trained for {seconds} s")
        if not all(isinstance(number, int | float) for row in counters.get("recent", ()) for number in row):
            raise ValueError("its last episodes are not numbers")
        kept = None if states is None else np.array(states)
        return cls(counters, float(seconds), num_envs, kept)
