"""Publishes all that is known of the one environment that somebody looks at closely."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ...envs import Task
from ...envs.fields import Array, Buffers
from ...envs.task import ASKED, LAST_DRAWN
from ..past.history import History
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.counts import Counts
from ..telemetry.moments import MomentSource, counted_actions, fill_moment, moment_dtype


class Detail:
    """The newest moment of an environment, the line of its last steps, and how often each action was taken.

    Attributes:
        history: The last steps of all environments.
    """

    def __init__(self, task: Task, num_envs: int) -> None:
        self.history = History(task, num_envs)
        self._task = task
        self._counts = counted_actions(task)
        self._moment = np.zeros((), moment_dtype(task))

    @property
    def keeps_boards(self) -> bool:
        """Whether boards are kept as they were drawn, since a state need not be there, nor lead to the same."""
        return not self._task.state_at_hand

    def ask_for_last_boards(self, buffer: Buffers, wanted: Collection[int]) -> None:
        """Have the environments in `wanted`, and no others, draw the last state of an episode when it ends.

        Only where boards are kept as they were drawn: elsewhere they are rebuilt.
        """
        if LAST_DRAWN in buffer and self.keeps_boards:
            last_drawn = buffer[LAST_DRAWN][0]
            asked = np.isin(np.arange(len(last_drawn)), list(wanted))
            last_drawn[~asked] = 0
            last_drawn[asked & (last_drawn == 0)] = ASKED

    def keep_last_boards(self, buffer: Buffers, slot: int, ahead: int) -> None:
        """Keep the last boards of what ended in the step to `slot`, `ahead` steps after the newest that was counted."""
        if LAST_DRAWN in buffer:
            players = self._task.players
            ended = buffer["terminated"][slot, ::players] | buffer["truncated"][slot, ::players]
            drawn = (buffer[LAST_DRAWN][0] == buffer["episode"][0]) & (ended > 0)
            if drawn.any():
                self.history.keep_last_boards(buffer, ahead, np.flatnonzero(drawn).tolist())

    def write(
        self,
        writer: TelemetryWriter,
        buffer: Buffers,
        slot: int,
        env: int,
        *,
        seat: int,
        counts: Counts,
        deciding: int | None,
        begun: bool = False,
    ) -> None:
        """Write the moment of now.

        Args:
            writer: Where to.
            buffer: Where the environments write.
            slot: The newest slot.
            env: Whose moment.
            seat: Whose there.
            counts: What was counted, the slot included.
            deciding: The slot in which the next action stands, if it is decided already.
            begun: If the newest step ended an episode: the next episode's first state instead of the last state.
        """
        moment, row, history = self._moment, env * self._task.players + seat, self.history
        fill_moment(moment, self._task, buffer, slot, env, seat=seat, begun=begun)
        last = history.decision(env, history.now, seat)
        moment["step"] = moment["now"] = history.now
        if moment["begun"]:
            last = None  # it is of the episode before
        terms = counts.last_terms if moment["end"] else counts.terms
        moment["source"], moment["terms"] = MomentSource.NOW, terms[row, : len(self._task.reward_terms)]
        moment["acted"], moment["decided"] = last is not None, deciding is not None
        moment["value"] = np.nan if last is None else last.value
        if last is not None:
            moment["action"] = last.action
        if deciding is not None:
            moment["next_action"] = buffer["action"][deciding, row]
        with writer.write("detail") as block:
            block[...] = moment

    def write_line(self, writer: TelemetryWriter, env: int, seat: int) -> None:
        """Write ends and rewards of the last steps."""
        ends, rewards = self.history.line(env, seat)
        with writer.write("line") as line:
            line["env"], line["seat"], line["now"], line["count"] = env, seat, self.history.now, len(ends)
            line["ends"][: len(ends)] = ends
            line["rewards"][: len(ends)] = rewards

    def write_counts(self, writer: TelemetryWriter, env: int) -> None:
        """Write how often each action was taken in the last steps: by this environment, and by all."""
        if not self._counts:
            return
        players = self._task.players
        with writer.write("action_counts") as counts:
            counts[0] = self._count(self.history.actions(slice(env * players, (env + 1) * players)))
            counts[1] = self._count(self.history.actions(slice(None)))

    def _count(self, actions: Array) -> NDArray[np.int64]:
        return np.bincount(actions.reshape(-1), minlength=self._counts)[: self._counts]
