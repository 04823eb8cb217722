"""Publishes the details of the environment in focus: its newest step, its last steps, and what the policy computed."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ...envs import Task
from ...envs.fields import Array, Buffers
from ..past.history import History
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.counts import Counts
from ..telemetry.moments import MomentSource, counted_actions, fill_moment, moment_dtype
from .publishing import StepPosition

COUNTS_PERIOD = 0.5  # s between two counts of all actions in the history


class FocusPublisher:
    """Writes the blocks `detail`, `line` and `action_counts`.

    Args:
        task: What is stepped.
        counts: What was counted, for the reward terms.
        history: The last steps.
    """

    def __init__(self, task: Task, counts: Counts, history: History) -> None:
        self._task, self._counts, self._history = task, counts, history
        self._moment = np.zeros((), moment_dtype(task))
        self._num_actions = counted_actions(task)
        self._counts_due = 0.0

    def write_step(
        self,
        writer: TelemetryWriter,
        buffer: Buffers,
        env: int,
        seat: int,
        position: StepPosition,
    ) -> None:
        """Write the newest step of a seat. At the gate, a step that ended an episode shows the next one's first state.

        Args:
            writer: The segment to write into.
            buffer: The environments' arrays.
            env: The environment, from 0.
            seat: The seat in it, from 0.
            position: The newest slot.
        """
        moment, row, history = self._moment, env * self._task.players + seat, self._history
        fill_moment(moment, self._task, buffer, position.slot, env, seat=seat, begun=position.at_gate)
        last = history.decision(env, history.now, seat)
        moment["step"] = moment["now"] = history.now
        if moment["begun"]:
            last = None  # it belongs to the previous episode
        terms = self._counts.last_terms if moment["end"] else self._counts.terms
        moment["source"], moment["terms"] = MomentSource.NOW, terms[row, : len(self._task.reward_terms)]
        moment["acted"], moment["decided"] = last is not None, position.next_actions is not None
        moment["value"] = np.nan if last is None else last.value
        if last is not None:
            moment["action"] = last.action
        if position.next_actions is not None:
            moment["next_action"] = buffer["action"][position.next_actions, row]
        with writer.write("detail") as block:
            block[...] = moment

    def write_line(self, writer: TelemetryWriter, env: int, seat: int) -> None:
        """Write rewards and ends of the last steps."""
        history = self._history
        ends, rewards = history.line(env, seat)
        with writer.write("line") as line:
            line["env"], line["seat"], line["now"], line["count"] = env, seat, history.now, len(ends)
            line["ends"][: len(ends)] = ends
            line["rewards"][: len(ends)] = rewards

    def write_action_counts(self, writer: TelemetryWriter, env: int) -> None:
        """Write how often each action was taken in the last steps by an environment and by all, every half second."""
        if not self._num_actions or time.monotonic() < self._counts_due:
            return
        self._counts_due = time.monotonic() + COUNTS_PERIOD
        players = self._task.players
        with writer.write("action_counts") as counts:
            counts[0] = self._count(self._history.actions(slice(env * players, (env + 1) * players)))
            counts[1] = self._count(self._history.actions(slice(None)))

    def _count(self, actions: Array) -> NDArray[np.int64]:
        return np.bincount(actions.reshape(-1), minlength=self._num_actions)[: self._num_actions]
