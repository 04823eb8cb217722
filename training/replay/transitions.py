"""A batch of transitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...envs.fields import Array


@dataclass(frozen=True)
class Transitions:
    """A batch of B transitions, copied from the ring. With stacks of k frames, observations have an axis k after B.

    Attributes:
        observations: `(B, *stored_shape)`, as the buffer stores them.
        actions: `(B, ...)`.
        rewards: `(B,)` float32, sums of discounted rewards until the observation that follows.
        discounts: `(B,)` float32, the discount of the value of what follows; 0 where the episode terminated.
        following: `(B, *stored_shape)`, the observations that follow; arbitrary where the discount is 0.
        masks: `(B, bytes)` packed masks of what follows; None if every action is legal. After a truncation, where no
            mask is known, every action counts as legal.
        places: `(B, 2)` int64, position and row.
        densities: `(B,)` float64, the probability of each relative to uniform sampling; None if it was uniform.
        frames: What `observations` and `following` are views of, if they share frames; None otherwise.
    """

    observations: Array
    actions: Array
    rewards: Array
    discounts: Array
    following: Array
    masks: Array | None
    places: Array
    densities: Array | None = None
    frames: Array | None = None


def joined(batches: Sequence[Transitions]) -> Transitions:
    if len(batches) == 1:
        return batches[0]
    names = [item.name for item in fields(Transitions) if item.name != "frames"]
    parts: dict[str, Any] = {name: [getattr(batch, name) for batch in batches] for name in names}
    arrays: dict[str, Any] = {
        name: None if found[0] is None else np.concatenate(found) for name, found in parts.items()
    }
    return Transitions(**arrays)
