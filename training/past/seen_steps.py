"""Keeps what the environments of a watched script observed in the last steps, which cannot be replayed."""

from __future__ import annotations

import numpy as np

from ...envs.fields import Array
from ...envs.unknown import UNKNOWN, unknown_in
from ..telemetry.records import MAX_STEPS_BACK
from .drawn_boards import MAX_BYTES, zeros_by_page


class SeenSteps:
    """Observations and numbers of infos of as many steps as `MAX_BYTES` allow.

    Args:
        numbers: How many numbers of an observation are kept.
        scalars: How many numbers of an info are.
        num_envs: Number of environments N.
    """

    def __init__(self, numbers: int, scalars: int, num_envs: int) -> None:
        self._numbers, self._scalars, width = numbers, scalars, numbers + scalars
        depth = min(MAX_STEPS_BACK + 1, MAX_BYTES // (4 * width * num_envs)) if numbers else 0
        self._rows = zeros_by_page((depth, num_envs, width), "f4")
        self._steps = np.full((depth, num_envs), -1, "i8")

    def forget(self) -> None:
        """Forget everything."""
        self._steps.fill(-1)

    def keep(self, newest: int, observations: Array, infos: Array) -> None:
        """Keep some consecutive steps.

        Args:
            newest: The number of the last of them.
            observations: `(steps, N, numbers)`, all unknown where an environment made no step.
            infos: `(scalars, steps, N)`.
        """
        count = min(len(observations), len(self._rows))
        if not count or observations.shape[2] != self._numbers or len(infos) != self._scalars:
            return
        steps = np.arange(newest - count + 1, newest + 1)
        at = steps % len(self._rows)
        self._rows[at, :, : self._numbers] = observations[-count:]
        self._rows[at, :, self._numbers :] = infos[:, -count:].transpose(1, 2, 0)
        known = ~unknown_in(self._rows[at, :, : self._numbers]).all(axis=2)
        self._steps[at] = np.where(known, steps[:, None], -1)

    def at(self, env: int, step: int) -> tuple[Array, Array] | None:
        """Return the observation after a step and the numbers of its info; None where they are not kept."""
        if not len(self._steps) or self._steps[step % len(self._steps), env] != step:
            return None
        row = self._rows[step % len(self._steps), env].copy()
        info = row[self._numbers :]
        info[np.isnan(info)] = UNKNOWN  # infos are read where somebody sees them
        return row[: self._numbers], info
