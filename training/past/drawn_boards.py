"""Keeps the boards of the last steps, of environments whose state is not in the buffer at every step."""

from __future__ import annotations

from collections import OrderedDict
from math import prod
from mmap import mmap

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...backends.core.layout import Buffer
from ...envs import Task
from ...envs.fields import Array
from ...envs.task import LAST, LAST_DRAWN
from ...envs.unknown import UNKNOWN, unknown_in
from ..telemetry.moments import drawn_fields
from ..telemetry.records import MAX_STEPS_BACK

MAX_BYTES = 64 * 2**20  # bytes, for each of steps, keyframes and boards
MAX_LAST_BOARDS = 256
"""Number of episodes of which the last boards are kept."""


class DrawnBoards:
    """The boards of as many steps as `MAX_BYTES` allow, and the last boards of the newest episodes."""

    def __init__(self, task: Task, num_envs: int) -> None:
        boards, self._players = drawn_fields(task), task.players
        row = num_envs * sum(item.row_bytes for item in boards)
        steps = min(MAX_STEPS_BACK + 1, MAX_BYTES // row) if row else 0
        self._boards = {item.name: zeros_by_page((steps, num_envs, *item.stored_shape), item.dtype) for item in boards}
        self._seen = np.full((steps, num_envs), -1, "i8")
        self._last: OrderedDict[tuple[int, int], dict[str, Array]] = OrderedDict()

    def forget(self) -> None:
        self._seen.fill(-1)
        self._last.clear()

    def keep(self, buffer: Buffer, step: int, drawn: NDArray[np.bool_]) -> None:
        """Keep the boards of the environments in `drawn`, `(num_envs,)`, as they are after the newest step, `step`."""
        if len(self._seen) and drawn.any():
            at = step % len(self._seen)
            for name, boards in self._boards.items():
                boards[at, drawn] = buffer[name][0, drawn]
            self._seen[at, drawn] = step

    def keep_last(self, buffer: Buffer, step: int) -> None:
        """Keep the last boards of the episodes that the newest step, `step`, ended, where they were drawn."""
        slot, seats = buffer.order.newest, slice(None, None, self._players)
        ended = buffer["terminated"][slot, seats] | buffer["truncated"][slot, seats]
        drawn = (buffer[LAST_DRAWN][0] == buffer["episode"][0]) & (ended > 0)
        for env in np.flatnonzero(drawn).tolist():
            self._last[env, step] = {name: buffer[LAST + name][0, env].copy() for name in self._boards}
        while len(self._last) > MAX_LAST_BOARDS:
            self._last.popitem(last=False)

    def at(self, env: int, step: int) -> dict[str, Array] | None:
        if not len(self._seen) or self._seen[step % len(self._seen), env] != step:
            return None
        return {name: boards[step % len(self._seen), env].copy() for name, boards in self._boards.items()}

    def last(self, env: int, step: int) -> dict[str, Array] | None:
        """Return the last boards of the episode that a step ended; None where they were not drawn."""
        return self._last.get((env, step))


def zeros_by_page(shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return zeros whose memory is allocated page by page, when they are written.

    NumPy requests pages of 2 MiB, and the step that first writes into one waits until the system has cleared it, for up
    to 250 ms.
    """
    kind = np.dtype(dtype)
    memory = mmap(-1, max(1, prod(shape) * kind.itemsize))
    return np.frombuffer(memory, kind, prod(shape)).reshape(shape)


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
