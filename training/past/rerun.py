"""Replays an environment from its seed and actions, in this process, apart from the training."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...envs import PacError, Task, allocate
from ...envs.fields import Array
from ...envs.task import ASKED, LAST_DRAWN, Restorable, Savable, load
from ..telemetry.moments import drawn_fields, field_named, fill_moment
from ..telemetry.step_results import fingerprints
from .history import RerunSpan


class RerunMismatch(PacError):
    """A replayed step differs from the original one.

    Attributes:
        step: The step, counted from 1 at the start of the replay.
        field: The field that differs.
    """

    title = "Replay differs"

    def __init__(self, step: int, field: str, text: str) -> None:
        super().__init__(text)
        self.step, self.field = step, field


class RerunImpossible(PacError):
    """An environment cannot be rerun."""

    title = "Cannot be replayed"


class RerunEnv:
    """One environment of a task, with its number, so that its episodes are the same.

    Attributes:
        buffers: Its arrays, with one slot, and rows for all environments up to its number. The system allocates only
            the memory that is written.
    """

    def __init__(self, task: Task, seed: int, env: int) -> None:
        self.task, self.env = task, env
        self.buffers = allocate(task, env + 1)
        self._seats = slice(env * task.players, (env + 1) * task.players)
        self._environments = task.make(env, env + 1, self.buffers, seed)
        self._wanted = False
        self._step: tuple[Array, Array] | None = None  # the state before the last step, and its actions

    def begin(self, episode: int) -> None:
        self._ask_for_boards()
        self._step = None
        self.buffers["episode"][0, self.env] = episode - 1
        self._environments.reset(np.ones(1, np.bool_), 0)

    def restore(self, state: Array) -> None:
        """Go to a state, given as in the buffer.

        Raises:
            ImpossibleState: The task cannot be in this state.
        """
        self._ask_for_boards()
        self._step = None
        self.buffers["state"][0, self.env] = state
        if self.task.saves:
            cast("Savable", self._environments).load(0)
        else:
            cast("Restorable", self._environments).restore(0)

    def saved(self) -> Array:
        """Return the state, as `restore` takes it; zeros if it cannot be saved."""
        if self.task.saves:
            cast("Savable", self._environments).save(0)
        state: Array = self.row("state")[0].copy()
        return state

    def step(self, actions: Array) -> None:
        """Take one action per seat, `(players, *action_shape)`."""
        self.buffers["action"][0, self._seats] = actions
        self._ask_for_boards()
        if self.task.trace and self._wanted:
            self._step = self.row("state")[0].copy(), np.asarray(actions)
        self._environments.step(0)

    def draw(self, *, wanted: bool) -> None:
        """Set whether boards are requested from now on, of an environment that draws on request or has a trace."""
        self._wanted = wanted

    def _ask_for_boards(self) -> None:
        if "looked_at" in self.buffers:
            self.buffers["looked_at"][0, self.env] = self._wanted
        if LAST_DRAWN in self.buffers:
            self.buffers[LAST_DRAWN][0, self.env] = ASKED * self._wanted

    def fill(self, moment: Array, seat: int = 0, *, begun: bool = False) -> None:
        """Write the state of a seat into a moment; `begun` is that of `moments.fill_moment`."""
        fill_moment(moment, self.task, self.buffers, 0, self.env, seat=seat, begun=begun)
        if self._step is not None and not moment["begun"]:
            boards = {item.name: moment[f"board:{item.name}"] for item in drawn_fields(self.task)}
            load(self.task.trace)(self.task, *self._step, boards)

    def row(self, name: str) -> Array:
        """Return a field of the environment, all seats: `(rows, ...)`."""
        rows = {"seat": self._seats, "env": slice(self.env, self.env + 1), "all": slice(None)}
        found: Array = self.buffers[name][0, rows[field_named(self.task, name).per]]
        return found

    def reward_terms(self) -> NDArray[np.float32]:
        """Return the reward terms of the last step, `(players, terms)`; `terms` may be 0."""
        if not self.task.reward_terms:
            return np.zeros((self.task.players, 0), np.float32)
        return self.row("reward_terms").copy()

    def close(self) -> None:
        """Release the environment."""
        self._environments.close()


def go_to_start(rerun: RerunEnv, span: RerunSpan) -> None:
    """Go to the state that a span begins with.

    Raises:
        RerunMismatch: Its observation differs from the original one.
    """
    if span.state is not None:
        rerun.restore(span.state)
    else:
        rerun.begin(span.episode)
    if len(span.prints):
        _compare(0, "observation", _print_of(rerun), int(span.prints[0]))


def rerun_step(rerun: RerunEnv, span: RerunSpan, index: int) -> None:
    """Take step `index` of a span.

    Raises:
        RerunMismatch: Reward, end or observation differ from the original ones.
    """
    rerun.step(span.actions[index])
    ended = int(rerun.row("terminated")[0]) or 2 * int(rerun.row("truncated")[0])
    for found, expected in zip(rerun.row("reward").tolist(), span.rewards[index].tolist(), strict=True):
        _compare(index + 1, "reward", found, expected)
    _compare(index + 1, "end", ended, int(span.ends[index]))
    if len(span.prints):
        _compare(index + 1, "observation", _print_of(rerun), int(span.prints[index + 1]))


def _compare(step: int, name: str, found: float, expected: float) -> None:
    if found != expected and not (np.isnan(found) and np.isnan(expected)):
        raise RerunMismatch(step, name, f"{name} was {expected:g}, and is {found:g} in the replay")


def _print_of(rerun: RerunEnv) -> int:
    return int(fingerprints(rerun.row("observation")[None, :1])[0, 0])
