"""Draws the environments of a watched script: what they render, or else their observation."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ...envs import Field, Panel
from ...envs.fields import Array, Buffers
from ...envs.signals import kept_signals
from ...envs.spaces.drawing import drawing, pixels, shrink
from ...envs.task import LAST, LAST_DRAWN, LOOKED_AT
from ...envs.text import cells_of
from .observations import ObservationParts, observation_of

log = logging.getLogger(__name__)

Render: TypeAlias = Callable[[int], Any]
MODES = frozenset({"rgb_array", "ansi"})
SHARE = 0.006
"""The largest share of the training's time that drawing may take."""
MAX_TURN = 0.005  # s of drawing at once


class WatchedBoards:
    """Draws the environments that viewers display, within a limited share of the time.

    Attributes:
        parts: What the environments observe.
        panels: What is drawn; the first one is the board.
        fields: Where it is drawn.
    """

    def __init__(self, render: Render | None, observations: Any) -> None:
        self._render = render
        self._paid = self._cost = 0.0
        self._turn = 0
        self.parts = ObservationParts(observation_of(observations, 0))
        board = self._rendered()
        drawn = [board] if board is not None else self._observed()
        self.panels, self.fields = (tuple(items) for items in zip(*drawn, strict=True))

    def _rendered(self) -> tuple[Panel, Field] | None:
        """Return what the environments render, and where it is drawn; None if they cannot."""
        if self._render is not None:
            try:
                with kept_signals():
                    drawn = self._render(0)
                return drawing(drawn)
            except Exception as error:
                log.warning("the environments cannot be drawn: what they observe is shown (%s)", error)
                self._render = None
        return None

    def _observed(self) -> list[tuple[Panel, Field]]:
        """Return how observations are drawn: as a picture, as named bars, or as both."""
        parts, count = self.parts, len(self.parts.labels)
        bars = Panel("bars", "Observation", "bars", parts.labels, main=parts.picture is None)
        found = [(bars, Field("bars", "float32", (count,), timed=False))]
        if parts.picture is None:
            return found
        picture = pixels(parts.picture_name or "Observation", "seen", parts.picture)
        return [picture, *found] if parts.slices else [picture]

    def draw(self, buffers: Buffers, observations: Any, *, spare: float) -> float:
        """Draw the environments that viewers display, a few at a time.

        Args:
            buffers: The arrays of what is watched.
            observations: What the environments observe, a batch.
            spare: Seconds for which the training waits anyway. Drawing during these does not count towards the share.

        Returns:
            How long it took, in s.
        """
        begin = now = time.perf_counter()
        if now < self._paid and spare <= self._cost:
            return 0.0
        wanted = np.flatnonzero(buffers[LOOKED_AT][0])
        for env in np.roll(wanted, -int(np.searchsorted(wanted, self._turn))).tolist():
            if now - begin > max(MAX_TURN, spare):
                break
            self._turn = env + 1
            buffers[LOOKED_AT][0, env] = 0
            if self._render is not None:
                self._render_one(self._render, env, buffers[self.fields[0].name][0, env])
            elif self.shows_observations:
                self._draw_observation(buffers, "", observation_of(observations, env), env)
            now, before = time.perf_counter(), now
            self._cost = now - before
        self._paid = now + max(0.0, now - begin - spare) / SHARE
        return now - begin

    @property
    def shows_observations(self) -> bool:
        """Whether boards show what the environments observe, and not what they render."""
        return self.fields[0].name in {"bars", "seen"}

    def draw_last(self, buffers: Buffers, observation: Any, env: int) -> None:
        """Draw the last board of an episode that the newest step has ended, if boards show observations.

        Args:
            buffers: The arrays of what is watched.
            observation: The last one of the episode.
            env: The environment, which has been reset since.
        """
        if self.shows_observations:
            self._draw_observation(buffers, LAST, observation, env)
            buffers[LAST_DRAWN][0, env] = buffers["episode"][0, env]

    def _draw_observation(self, buffers: Buffers, prefix: str, observation: Any, env: int) -> None:
        """Draw an observation into the boards whose names begin with `prefix`."""
        for item in self.fields:
            board = buffers[prefix + item.name][0, env]
            if item.name == "bars":
                board[...] = self.parts.numbers(observation)
            elif (seen := self.parts.in_color(observation)) is not None:
                board[...] = shrink(seen, board.shape[:2])

    def _render_one(self, render: Render, env: int, board: Array) -> None:
        """Draw what an environment renders, a picture or text. After an error, no environment is drawn again."""
        try:
            with kept_signals():
                drawn = render(env)
            board[...] = (
                cells_of(str(drawn), board.shape)
                if self.fields[0].name == "screen"
                else shrink(np.asarray(drawn), board.shape[:2])
            )
        except Exception:
            log.warning("environment %d can no longer be drawn", env + 1, exc_info=True)
            self._render = None
