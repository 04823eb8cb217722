"""Draws the environments of a watched script: their own picture if they render one, else their observation."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs import Field, Panel, Task
from ...envs.fields import Array, Buffers
from ...envs.gym.board import MOST_BARS, drawing, pixels, shrink
from ...envs.signals import kept_signals
from ...envs.text import cells_of

log = logging.getLogger(__name__)

Render: TypeAlias = Callable[[int], Any]
MODES = frozenset({"rgb_array", "ansi"})
SHARE = 0.006
"""Of the training's time, the most that drawing takes."""
MAX_TURN = 0.005  # s of drawing at once


def numbers_of(observations: Any, env: int) -> NDArray[np.float32]:
    """Return the first numbers of what one environment observes, whatever its space is made of."""
    if isinstance(observations, Mapping):
        parts = [numbers_of(part, env) for part in observations.values()]
    elif isinstance(observations, tuple):
        parts = [numbers_of(part, env) for part in observations]
    elif isinstance(observations, np.ndarray) and observations.dtype.kind in "fiub":
        parts = [np.ravel(observations[env])[:MOST_BARS].astype(np.float32)]
    else:
        parts = []
    numbers: NDArray[np.float32] = np.concatenate([*parts, np.zeros(0, np.float32)])[:MOST_BARS]
    return numbers


def picture_of(observations: Any, env: int) -> NDArray[np.uint8] | None:
    """Return an observation as a picture `(H, W, 3)`: the newest of a stack of frames; None if it is none."""
    if not isinstance(observations, np.ndarray) or observations.dtype != np.uint8 or observations.ndim != 4:
        return None
    seen: NDArray[np.uint8] = observations[env]
    if seen.shape[-1] == 3:
        return seen
    if seen.shape[0] <= 4:
        seen = np.moveaxis(seen, 0, -1)
    return np.repeat(seen[..., -1:], 3, axis=-1) if seen.shape[-1] <= 4 else None


class WatchedBoards:
    """Draws the environments that viewers display, for a limited share of the time.

    Attributes:
        panel: What is drawn.
        field: Where it is drawn.
        numbers: The first numbers of an observation.
    """

    def __init__(self, render: Render | None, observations: Any) -> None:
        self._render = render
        self._paid = self._cost = 0.0
        self._turn = 0
        count = max(1, len(numbers_of(observations, 0)))
        self.numbers = Field("observation", "float32", (count,), per="seat")
        self.panel, self.field = self._look(observations, count)

    def _look(self, observations: Any, count: int) -> tuple[Panel, Field]:
        """Return what can be drawn, and where."""
        if self._render is not None:
            try:
                with kept_signals():
                    drawn = self._render(0)
                return drawing(drawn)
            except Exception:
                log.warning("the environments cannot be drawn: what they observe is shown", exc_info=True)
                self._render = None
        seen = picture_of(observations, 0)
        if seen is not None:
            return pixels("Observation", "seen", seen.shape)
        labels = tuple(str(index) for index in range(count))
        return Panel("bars", "Observation", "bars", labels, main=True), Field("bars", "float32", (count,), timed=False)

    def draw(self, task: Task, buffers: Buffers, observations: Any, *, spare: float) -> float:
        """Draw the environments that viewers display, a few at a time.

        Args:
            task: What is watched.
            buffers: Its arrays.
            observations: What the environments observe, a batch.
            spare: Seconds that the training has to wait anyway: drawing for so long is no part of its share.

        Returns:
            How long it took, in s.
        """
        begin = now = time.perf_counter()
        if now < self._paid and spare <= self._cost:
            return 0.0
        wanted = np.flatnonzero(buffers["looked_at"][0])
        board = buffers[task.panels[0].field][0]
        for env in np.roll(wanted, -int(np.searchsorted(wanted, self._turn))).tolist():
            if now - begin > max(MAX_TURN, spare):
                break
            self._turn = env + 1
            self._draw_one(buffers, board, observations, env)
            now, before = time.perf_counter(), now
            self._cost = now - before
        self._paid = now + max(0.0, now - begin - spare) / SHARE
        return now - begin

    def _draw_one(self, buffers: Buffers, board: Array, observations: Any, env: int) -> None:
        buffers["looked_at"][0, env] = 0
        if self.field.name == "bars":
            numbers = numbers_of(observations, env)
            board[env, : len(numbers)] = numbers
        elif self.field.name == "seen" and (seen := picture_of(observations, env)) is not None:
            board[env] = shrink(seen, board.shape[1:3])
        elif self._render is not None:
            self._render_one(self._render, env, board[env])

    def _render_one(self, render: Render, env: int, board: Array) -> None:
        """Draw an environment's own picture or text; one that fails is tried no more: a picture is no training."""
        try:
            with kept_signals():
                drawn = render(env)
            board[...] = (
                cells_of(str(drawn), board.shape)
                if self.field.name == "screen"
                else shrink(np.asarray(drawn), board.shape[:2])
            )
        except Exception:
            log.warning("environment %d cannot be drawn any more", env + 1, exc_info=True)
            self._render = None
