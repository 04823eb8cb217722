"""Requests boards from environments that draw themselves, and keeps those that cannot be computed again."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ...backends.core.layout import Buffer
from ...envs import Task
from ...envs.fields import Array, Buffers
from ...envs.task import ASKED, LAST_DRAWN, LOOKED_AT
from ..past.history import History
from .state import View


class BoardCapture:
    """Keeps the boards that viewers display and that are recorded, in the history of the environments.

    Args:
        task: What is stepped.
        view: What viewers display.

    Attributes:
        needed: Whether boards are kept as they were drawn, because states are not available or not deterministic.
    """

    def __init__(self, task: Task, view: View) -> None:
        self.needed = not task.state_at_hand
        self._players, self._view = task.players, view
        self._requested: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def begin(self, num_envs: int) -> None:
        """Forget all requests."""
        self._requested = np.zeros(num_envs, np.bool_)

    def request(self, buffer: Buffers, recorded: Collection[int], inspected: int | None) -> None:
        """Have environments draw at their next step, and at the end of their episode, if they draw on request.

        Args:
            buffer: The environments' arrays.
            recorded: The environments whose episodes are recorded.
            inspected: The environment that a viewer goes through step by step.
        """
        if LOOKED_AT in buffer:
            self._requested = self._view.displayed(len(self._requested))
            buffer[LOOKED_AT][0] = self._requested
        if LAST_DRAWN in buffer and self.needed:
            last_drawn = buffer[LAST_DRAWN][0]
            asked = np.isin(np.arange(len(last_drawn)), [*recorded, *([] if inspected is None else [inspected])])
            last_drawn[~asked] = 0
            last_drawn[asked & (last_drawn == 0)] = ASKED

    def keep(self, history: History, buffer: Buffer, ahead: int, recorded: Collection[int]) -> None:
        """Keep the boards that were drawn.

        Args:
            history: Where they are kept.
            buffer: The environments' arrays.
            ahead: How many steps the newest slot is after the newest step in `history`.
            recorded: The environments whose episodes are recorded.
        """
        drawn = self._take_drawn(buffer[LOOKED_AT][0], recorded) if LOOKED_AT in buffer else self._displayed()
        if drawn.any():
            history.keep_boards(buffer, ahead, drawn)
        if LAST_DRAWN in buffer:
            self._keep_last_boards(history, buffer, ahead)

    def _displayed(self) -> NDArray[np.bool_]:
        return self._view.displayed(len(self._requested))

    def _take_drawn(self, looked_at: Array, recorded: Collection[int]) -> NDArray[np.bool_]:
        """Return which environments have drawn as requested, `(num_envs,)`; request the next board of recorded ones."""
        drawn: NDArray[np.bool_] = self._requested & (looked_at == 0)
        self._requested &= ~drawn
        if recorded:
            self._requested[list(recorded)] = True
            looked_at[list(recorded)] = 1
        return drawn

    def _keep_last_boards(self, history: History, buffer: Buffer, ahead: int) -> None:
        """Keep the last boards of the episodes that ended in the newest step."""
        slot = buffer.order.newest
        ended = buffer["terminated"][slot, :: self._players] | buffer["truncated"][slot, :: self._players]
        drawn = (buffer[LAST_DRAWN][0] == buffer["episode"][0]) & (ended > 0)
        if drawn.any():
            history.keep_last_boards(buffer, ahead, np.flatnonzero(drawn).tolist())
