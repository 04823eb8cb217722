"""Draws the environments of a watched script: what they render, or else their observation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ...envs import Field, Panel
from ...envs.fields import Array, Buffers
from ...envs.signals import deferred_signals
from ...envs.spaces.drawing import as_picture, drawing, picture_in, pixels, story_panel, text_panel, wrapped, written
from ...envs.task import LAST, LAST_DRAWN, LOOKED_AT
from ...envs.text import cells_of, size_of
from .observations import ObservationParts, host_array

Render: TypeAlias = Callable[[int], Any]
MODES = frozenset({"rgb_array", "ansi"})
SHARE = 0.006
"""The largest share of the training's time that drawing may take."""
MAX_TURN = 0.005  # s of drawing at once
SAID = 6, 44
"""Lines and columns of what was said."""
MOST_CHANGES = 8
"""How often the boards may change their kind or size."""


class WatchedBoards:
    """Draws the environments that viewers display, within a limited share of the time.

    Nothing is rendered before `look` is called, so boards show at first what environments observe.

    Args:
        render: Draws an environment; None if they cannot be drawn.
        observation: What one environment observes.
        text: Whether actions are text, or infos have text, which is shown.
        shared: Whether one picture shows all environments, as of agents in one place.

    Attributes:
        parts: What the environments observe.
        panels: What is drawn; the first one is the board. There may be none.
        fields: Where it is drawn.
    """

    def __init__(self, render: Render | None, observation: Any, *, text: bool = False, shared: bool = False) -> None:
        self._render, self._shared, self._text = render, shared, text
        self._paid = self._cost = 0.0
        self._turn = self._changes = 0
        self._board: tuple[Panel, Field] | None = None
        self._looked = self._stale = False
        self._notes: list[str] = []
        self._newest = observation
        self._texts: dict[str, str] = {}  # those for which there was no room, by field
        self._outgrown = False
        self.parts = ObservationParts(observation)
        self.panels: tuple[Panel, ...] = ()
        self.fields: tuple[Field, ...] = ()
        self._arrange()

    def take_notes(self) -> list[str]:
        """Return sentences for the user, each once: what cannot be shown any more, and why."""
        notes = [*self._notes, *filter(None, [self.parts.changed])]
        self._stale |= bool(self.parts.changed)
        self._notes, self.parts.changed = [], ""
        return notes

    def look(self) -> bool:
        """Find out how environments are drawn; return whether `panels`, `fields` and `parts` have changed.

        It is called between two steps while a viewer displays environments, each time before they are drawn. At first,
        it renders one; later, it costs nothing unless a drawing has failed, or no longer fits.
        """
        if self._render is not None and not self._looked:
            self._looked = True
            with deferred_signals():
                self._try(0, lambda drawn: setattr(self, "_board", drawing(drawn)))
            self._stale |= self._board is not None
        if not (self._stale or self._outgrown or self.parts.changed) or self._changes >= MOST_CHANGES:
            return False
        self._changes += 1
        if self.parts.changed:
            self._notes.append(self.parts.changed)
        if self.parts.unfit:
            self.parts = ObservationParts(self._newest, self.parts.unfit)
        self._arrange()
        self._stale = self._outgrown = False
        return True

    def _arrange(self) -> None:
        if self._board is not None and self._board[0].field in self._texts:
            self._board = text_panel("Board", "screen", self._texts["screen"])
        drawn = [self._board] if self._board is not None else self._observed()
        if self._text:
            said = Panel("text", "Text", "said", close=True, scrolls=True)
            drawn.append((said, Field("said", "uint32", SAID, timed=False)))
        self.panels = tuple(replace(panel, main=not index) for index, (panel, _) in enumerate(drawn))
        self.fields = tuple(field for _, field in drawn)

    def _observed(self) -> list[tuple[Panel, Field]]:
        """Return how observations are drawn: as a picture, a grid, text and named bars, as far as they have these."""
        parts, found = self.parts, []
        if parts.picture is not None:
            found.append(pixels(parts.picture_name or "Observation", "seen", parts.picture))
        if parts.grid is not None:
            panel, field = text_panel(parts.grid_name or "Observation", "cells", self._texts.get("cells", parts.grid))
            found.append((replace(panel, close=True), field))
        if parts.story is not None:
            found.append(story_panel(parts.story_name or "Observation", "story"))
        if parts.labels and (parts.slices or not found):
            bars = Panel("bars", "Observation", "bars", parts.labels)
            found.append((bars, Field("bars", "float32", (len(parts.labels),), timed=False)))
        return found

    def draw(
        self,
        buffers: Buffers,
        observation_of: Callable[[int], Any],
        *,
        spare: float,
        texts_of: Callable[[int], Mapping[str, str]] | None = None,
    ) -> float:
        """Draw the environments that viewers display, a few at a time.

        Args:
            buffers: The arrays of what is watched.
            observation_of: Returns what an environment observes.
            spare: Seconds for which the training waits anyway. Drawing during these does not count towards the share.
            texts_of: Returns the texts of an environment by name, such as its last action, if there are any.

        Returns:
            How long it took, in s.
        """
        begin = now = time.perf_counter()
        if now < self._paid and spare <= self._cost:
            return 0.0
        wanted = np.flatnonzero(buffers[LOOKED_AT][0])
        with deferred_signals():
            for env in np.roll(wanted, -int(np.searchsorted(wanted, self._turn))).tolist():
                if now - begin > max(MAX_TURN, spare):
                    break
                self._turn = env + 1
                buffers[LOOKED_AT][0, env] = 0
                if self.shows_observations:
                    self._draw_observation(buffers, "", observation_of(env), env)
                else:
                    self._draw_rendered(buffers, env)
                if self._text and texts_of is not None:
                    _draw_texts(buffers["said"][0, env], texts_of(env))
                now, before = time.perf_counter(), now
                self._cost = now - before
                if self._shared and not self.shows_observations:
                    self._copy(buffers, env, wanted)
                    break
        self._paid = now + max(0.0, now - begin - spare) / SHARE
        return now - begin

    @property
    def shows_observations(self) -> bool:
        """Whether boards show what the environments observe, and not what they render."""
        return not self.fields or self.fields[0].name not in {"picture", "screen"}

    def draw_last(self, buffers: Buffers, observation: Any, env: int) -> None:
        """Draw the last board of an episode that the newest step has ended, if boards show observations.

        Args:
            buffers: The arrays of what is watched.
            observation: The last one of the episode.
            env: The environment, which has been reset since.
        """
        if self.fields and self.shows_observations and LAST_DRAWN in buffers:
            self._draw_observation(buffers, LAST, observation, env)
            buffers[LAST_DRAWN][0, env] = buffers["episode"][0, env]

    def _draw_observation(self, buffers: Buffers, prefix: str, observation: Any, env: int) -> None:
        """Draw an observation into the boards whose names begin with `prefix`."""
        self._newest = observation
        for panel, item in zip(self.panels, self.fields, strict=True):
            board = buffers[prefix + item.name][0, env]
            if item.name == "bars":
                board[...] = self.parts.numbers(observation)
            elif item.name == "seen" and (seen := self.parts.in_color(observation)) is not None:
                board[...] = picture_in(seen, board.shape[:2])
            elif item.name == "cells" and (cells := self.parts.cells(observation)) is not None:
                self._write(panel, board, cells)
            elif item.name == "story" and (story := self.parts.text(observation)) is not None:
                self._write(panel, board, story)

    def _draw_rendered(self, buffers: Buffers, env: int) -> None:
        """Draw what an environment renders, a picture or text. After an error, what they observe is drawn."""
        panel, board = self.panels[0], buffers[self.fields[0].name][0, env]

        def draw(drawn: Any) -> None:
            if panel.field == "screen":
                self._write(panel, board, str(drawn))
            else:
                board[...] = picture_in(as_picture(drawn), board.shape[:2])

        if self._render is not None and not self._try(env, draw):
            board[...] = 0
            self._board, self._stale = None, True

    def _try(self, env: int, use: Callable[[Any], None]) -> bool:
        """Use what an environment renders; after an error, nothing is rendered again."""
        assert self._render is not None
        try:
            if (drawn := self._render(env)) is not None:
                use(drawn if isinstance(drawn, str) else host_array(drawn))
        except (Exception, SystemExit) as error:  # of the script's own code
            reason = f"{type(error).__name__}: {error}".removesuffix(": ")
            self._notes.append(f"rendering failed ({reason}): boards show what is observed")
            self._render = None
        return self._render is not None

    def _write(self, panel: Panel, board: Array, text: str) -> None:
        """Write text; note if it has outgrown its board."""
        board[...] = written(text, panel, board.shape)
        rows, columns = size_of(text)
        if not panel.scrolls and (rows > board.shape[0] or columns > board.shape[1]):
            self._texts[panel.field], self._outgrown = text, True

    def _copy(self, buffers: Buffers, env: int, wanted: Array) -> None:
        """Show what was drawn of one environment as the board of all that are wanted."""
        boards = buffers[self.fields[0].name][0]
        boards[wanted] = boards[env]
        buffers[LOOKED_AT][0, wanted] = 0


def _draw_texts(board: Array, texts: Mapping[str, str]) -> None:
    """Write texts with their names, each in lines of its own; longer ones are cut at their beginning."""
    lines, columns = board.shape
    each = max(1, lines // max(1, len(texts)))
    rows = [wrapped(f"{name}: {text}", (each, columns)) for name, text in texts.items()]
    board[...] = cells_of("\n".join(rows), board.shape)


def renew(buffers: dict[str, Array], fields: tuple[Field, ...], num_envs: int) -> None:
    """Put arrays into buffers for those of the untimed `fields` that have none of their shape.

    Args:
        buffers: The arrays of what is watched.
        fields: The boards of a task, and its last boards.
        num_envs: Number of environments N.
    """
    for item in fields:
        shape = item.block_shape(1, num_envs, 1)
        if item.name not in buffers or buffers[item.name].shape != shape:
            buffers[item.name] = np.zeros(shape, item.dtype)
