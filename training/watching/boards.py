"""Draws the environments of a watched script: what they render, or else their observation."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ...envs import Field, Panel
from ...envs.fields import Array, Buffers
from ...envs.signals import deferred_signals
from ...envs.spaces.drawing import BUDGET, MODE_OF, Turns, as_picture, drawing, large_picture, picture_in, written
from ...envs.task import LARGE, LARGE_OF, LAST, LAST_DRAWN, LIMITED_LARGE, LOOKED_AT
from ...envs.text import size_of
from .observations import NAMELESS, ObservationParts, Ranges, host_array
from .step_log import StepLog

Render: TypeAlias = Callable[[int], Any]
MODES = frozenset(MODE_OF.values())
SAID = Panel("text", "Text", "said", close=True, scrolls=True), Field("said", "uint32", (6, 44), timed=False)
"""The board of actions that are text."""
MOST_CHANGES = 8
"""How often the boards may change their kind or size."""


class UsedByOtherThread(Exception):
    """Another thread uses the environment."""


class WatchedBoards:
    """Draws the environments that viewers display, within a limited share of the time.

    Nothing is rendered before `look` is called, so boards show at first what environments observe.

    Args:
        render: Draws an environment; None if they cannot be drawn.
        observation: What one environment observes.
        text: Whether actions are text, which is shown.
        shared: Whether one picture shows all environments, as of agents in one place.
        names: Named ranges of observations that are vectors.

    Attributes:
        parts: What the environments observe.
        panels: What is drawn; the first one is the board. There may be none.
        fields: Where it is drawn.
        in_use: The environments that could not be drawn last, since other threads used them.
    """

    def __init__(
        self,
        render: Render | None,
        observation: Any,
        *,
        text: bool = False,
        shared: bool = False,
        names: Ranges = NAMELESS,
    ) -> None:
        self._render, self._shared, self._text = render, shared, text
        self._turns = Turns()
        self._changes = 0
        self._board: tuple[Panel, Field] | None = None  # what is rendered
        self._looked = self._stale = False
        self._notes: list[str] = []
        self.in_use: set[int] = set()
        self.parts = ObservationParts(observation, self._notes, names=names)
        self._arrange()

    @property
    def facts(self) -> Mapping[str, Any]:
        """The fields of a task that describe boards and observations."""
        boards = (*self.fields, Field(LOOKED_AT, "uint8", timed=False))
        parts, large = self.parts, large_picture(*self._board) if self._board is not None else None
        drawn = {"panels": self.panels, "boards": boards, "large": large}
        return {"observation": parts.field, "slices": parts.slices, **drawn}

    def take_notes(self) -> list[str]:
        """Return sentences for the user, each once: what cannot be shown any more, and why."""
        notes = list(self._notes)
        self._notes.clear()
        return notes

    def look(self, env: int = 0) -> bool:
        """Find out how environments are drawn; return whether `panels`, `fields` and `parts` have changed.

        It is called between two steps while a viewer displays environments, each time before they are drawn. At first,
        it renders one; later, it costs nothing unless a drawing has failed, or no longer fits.

        Args:
            env: An environment that is rendered to see how.
        """
        if not self._looked:
            with deferred_signals():
                drawn = self._rendered(env)
            self._looked = env not in self.in_use
            if drawn is not None:
                self._board, self._stale = drawing(drawn), True
        if not (self._stale or self.parts.changed is not None) or self._changes >= MOST_CHANGES:
            return False
        self._changes += 1
        if self.parts.changed is not None:
            self.parts = ObservationParts(self.parts.changed, self._notes, self.parts.unfit)
        self._arrange()
        return True

    def _arrange(self) -> None:
        drawn = self.parts.boards if self._board is None else [self._board]
        drawn = [*drawn, SAID] if self._text else drawn
        self.panels = tuple(replace(panel, main=not index) for index, (panel, _) in enumerate(drawn))
        self.fields = tuple(field for _, field in drawn)
        self._renders, self._stale = self._board is not None, False

    def draw(self, buffers: Buffers, log: StepLog, *, spare: float) -> float:
        """Draw the environments that viewers display, a few at a time; return how long it took, in s.

        Args:
            buffers: The arrays of what is watched.
            log: Knows what the environments observe, and their last actions.
            spare: Seconds for which the training waits anyway. Drawing during these does not count towards the share.
        """
        if not BUDGET.allows(spare):
            return 0.0
        begin = time.perf_counter()
        wanted = np.flatnonzero(buffers[LOOKED_AT][0])
        in_large = np.flatnonzero(buffers[LOOKED_AT][0] == LIMITED_LARGE).tolist() if LARGE in buffers else []
        self.in_use.clear()
        with deferred_signals(), closing(self._turns.choose(wanted.tolist(), spare)) as chosen:
            for env in chosen:
                buffers[LOOKED_AT][0, env] = 0
                observation = None if self._renders else log.observation(env)
                picture = self._draw(buffers, "", observation, env, log.last_action(env) if self._text else None)
                if picture is not None and in_large and (env in in_large or self._shared):
                    buffers[LARGE][0, 0] = picture_in(picture, buffers[LARGE].shape[2:4])
                    buffers[LARGE_OF][0] = in_large[0] + 1
                if env in self.in_use:
                    buffers[LOOKED_AT][0, env] = 1
                if self._shared and self._renders:
                    boards = buffers[self.fields[0].name][0]
                    boards[wanted], buffers[LOOKED_AT][0, wanted] = boards[env], 0
                    break
        return time.perf_counter() - begin

    def draw_last(self, buffers: Buffers, observation: Any, env: int) -> None:
        """Draw the last observation of an episode, whose end has reset the environment, if boards show observations."""
        if self.fields and not self._renders and LAST_DRAWN in buffers:
            self._draw(buffers, LAST, observation, env)
            buffers[LAST_DRAWN][0, env] = buffers["episode"][0, env]

    def _draw(self, buffers: Buffers, prefix: str, observation: Any, env: int, action: Any = None) -> Array | None:
        """Draw an environment into the boards whose names begin with `prefix`; return the picture that it rendered."""
        picture: Array | None = None
        for panel, item in zip(self.panels, self.fields, strict=True):
            board = buffers[prefix + item.name][0, env]
            shown: str | Array | None
            if item.name == "said":
                shown = f"action: {action}" if isinstance(action, str) else ""
            elif not self._renders:
                shown = self.parts.shown(item.name, observation)
            elif (shown := self._rendered(env)) is None and self._render is None:
                board[...] = 0
            if isinstance(shown, str):
                board[...] = written(shown, panel, board.shape)
                rows, columns = size_of(shown)
                if panel.scrolls or (rows <= board.shape[0] and columns <= board.shape[1]):
                    continue
                if self._renders:
                    self._board, self._stale = drawing(shown), True
                else:
                    self.parts.changed = observation
            elif shown is not None:
                board[...] = picture_in(shown, board.shape[:2]) if panel.kind == "pixels" else shown
                picture = shown if self._renders else None
        return picture

    def _rendered(self, env: int) -> str | Array | None:
        """Return what an environment renders; None if nothing is known. After an error, nothing is rendered again."""
        if self._render is None:
            return None
        try:
            drawn = self._render(env)
            text = isinstance(drawn, str) if self._board is None else self._board[0].kind == "text"
            return None if drawn is None else str(drawn) if text else as_picture(host_array(drawn))
        except UsedByOtherThread:
            self.in_use.add(env)
            return None
        except (Exception, SystemExit) as error:  # of the script's own code
            reason = f"{type(error).__name__}: {error}".removesuffix(": ")
            self._notes.append(f"rendering failed ({reason}): boards show what is observed{_advice()}")
            self._stale |= self._board is not None
            self._render = self._board = None
            return None


def _advice() -> str:
    """Return what to try if a picture of MuJoCo has failed that no variable says how to draw."""
    if "mujoco" not in sys.modules or "MUJOCO_GL" in os.environ:
        return ""
    return "; start the script with MUJOCO_GL=egl or osmesa: `pac-tui doctor` says what works here"


def renew(buffers: dict[str, Array], fields: tuple[Field, ...], num_envs: int) -> None:
    """Put arrays into buffers for those of a task's boards that have none of their shape, for N environments."""
    for item in fields:
        shape = item.block_shape(1, num_envs, 1)
        if item.name not in buffers or buffers[item.name].shape != shape:
            buffers[item.name] = np.zeros(shape, item.dtype)
