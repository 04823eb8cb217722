"""What counters, guards, history and recorder read of the environments' steps.

They do not read the buffer themselves. They request the steps that were written, and get the results when these are
delivered: at once from a buffer in the memory of the host, later from a device, which computes the sums and gathers the
rest while the training goes on. Nothing here waits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...backends.core.layout import Buffer, nan_rows
from ...envs import Task
from ...envs.fields import DECIDES, PLAYED, Array
from ...envs.slots import Span
from .moments import TRUNCATED, info_scalars

MAX_WORDS = 256
NEEDED = (
    *("action", "active", "reward", "terminated", "truncated", "frames"),
    *("episode", "episode_return", "episode_length", "outcome"),
)
"""The fields of whole slots that are read of every step, with the terms of the reward and the task's scalars."""


@dataclass(frozen=True)
class StepResults:
    """Consecutive steps of all environments, in the memory of the host.

    Arrays may be views of a buffer, so they are used before the next step.

    Attributes:
        span: The slots of the steps.
        frames: Frames that all environments took.
        decisions: Steps at which a seat of an environment decided, of all environments together.
        actions: `(steps, rows, *action_shape)`.
        decided: Whether the row decided, `(steps, rows)`. If not, its action has no meaning.
        rewards: `(steps, rows)`.
        reward_terms: `(steps, rows, terms)`.
        ends: `(steps, N)`: 0, or how an episode ended: 1 terminated, 2 truncated.
        ended_steps: Which step of these ended an episode, `(ends,)`, in the order of the steps.
        ended_envs: In which environment, `(ends,)`.
        returns: Returns of these episodes, `(ends, players)`.
        lengths: Their lengths in steps, `(ends,)`.
        outcomes: Their outcomes, `(ends,)`.
        infos: The task's scalars at their ends, `(scalars, ends)`.
        episodes: Number of the running episode in each environment, from 0, `(N,)`.
        nan_returns: Rows whose return is NaN after one of the steps.
        nan_observations: Rows that observe a NaN after one of the steps, or at the end of an episode; of a row with
            several ends, at the newest of them.
        fingerprints: Of the first seats' observations, `(steps, N)`; `(0, N)` where a state says all.
        newest: The fields that were requested, after the newest step, `(rows, ...)`.
        recorded: For each environment that was requested, its fields at all steps, `(steps, rows, ...)`.
    """

    span: Span
    frames: int
    decisions: int
    actions: Array
    decided: NDArray[np.bool_]
    rewards: Array
    reward_terms: Array
    ends: NDArray[np.uint8]
    ended_steps: NDArray[np.intp]
    ended_envs: NDArray[np.intp]
    returns: Array
    lengths: Array
    outcomes: Array
    infos: tuple[Array, ...]
    episodes: Array
    nan_returns: NDArray[np.intp]
    nan_observations: NDArray[np.intp]
    fingerprints: NDArray[np.uint64]
    newest: Mapping[str, Array]
    recorded: Mapping[int, Mapping[str, Array]]


class StepReader(Protocol):
    """Reads steps from a buffer, wherever that is."""

    def request(self, span: Span, *, newest: Collection[str] = (), recorded: Collection[int] = ()) -> None:
        """Ask for the results of steps; returns at once.

        Args:
            span: The slots of the steps.
            newest: Fields to read whole after the newest of the steps.
            recorded: Environments of which all fields are read at all of the steps.
        """

    def delivered(self) -> list[StepResults]:
        """Return the results that have arrived since the last call, oldest first; never waits."""


class HostStepReader:
    """Reads steps from a buffer in the memory of the host, which has them at once."""

    def __init__(self, task: Task, buffer: Buffer) -> None:
        self._task, self._buffer = task, buffer
        self._scalars = info_scalars(task)
        self._per_seat = {item.name for item in task.fields if item.per == "seat"}
        terms = ("reward_terms",) if task.reward_terms else ()
        self._needed = (*NEEDED, *terms, *(item.name for item in self._scalars))
        self._ready: list[StepResults] = []

    def request(self, span: Span, *, newest: Collection[str] = (), recorded: Collection[int] = ()) -> None:
        """Read the results of steps, as `StepReader.request` says."""
        players, written = self._task.players, span.written
        buffer = self._buffer.on_host(self._needed, (span.acted, written))
        terminated, truncated = buffer["terminated"][written], buffer["truncated"][written]
        ends = terminated[:, ::players] + TRUNCATED * (truncated[:, ::players] > terminated[:, ::players])
        steps, envs = ends.nonzero()
        slots, rows = written.start + steps, envs * players
        returns = buffer["episode_return"].reshape(len(buffer["episode_return"]), -1, players)
        self._ready.append(
            StepResults(
                span=span,
                frames=int(buffer["frames"][written].sum()),
                decisions=self._decisions(buffer["active"][written]),
                actions=buffer["action"][span.acted],
                decided=np.isin(buffer["active"][self._deciding(span)], (DECIDES, PLAYED)),
                rewards=buffer["reward"][written],
                reward_terms=buffer["reward_terms"][written] if self._task.reward_terms else np.zeros((0, 0, 0), "f4"),
                ends=ends,
                ended_steps=steps,
                ended_envs=envs,
                returns=returns[slots, envs],
                lengths=buffer["episode_length"][slots, envs],
                outcomes=buffer["outcome"][slots, envs],
                infos=tuple(
                    buffer[item.name][slots if item.timed else 0, rows if item.per == "seat" else envs]
                    for item in self._scalars
                ),
                episodes=buffer["episode"][0],
                nan_returns=nan_rows(buffer["episode_return"][written]),
                nan_observations=self._nan_observations(written, (terminated | truncated).nonzero()),
                fingerprints=self._fingerprints(written),
                newest={name: buffer[name][self._slot_of(name, span)] for name in newest},
                recorded={env: self._recorded(env, span) for env in recorded},
            )
        )

    def delivered(self) -> list[StepResults]:
        """Return the results that were requested since the last call."""
        ready, self._ready = self._ready, []
        return ready

    def _deciding(self, span: Span) -> slice:
        """Return the slots that say which steps were decided: those with the actions.

        Where episodes begin at the next step, that step ignores its action, and the slot that it writes says so.
        """
        return span.acted if self._task.begins_at_once else span.written

    def _decisions(self, active: Array) -> int:
        decides = active == DECIDES
        if self._task.players > 1:  # a step of an environment is one, whichever of its seats decide
            decides = decides.reshape(len(decides), -1, self._task.players).any(axis=2)
        return int(np.count_nonzero(decides))

    def _nan_observations(self, written: slice, ended: tuple[NDArray[np.intp], ...]) -> NDArray[np.intp]:
        rows = self._buffer.nan_rows("observation", written)
        final = self._buffer["final_observation"]
        if len(ended[1]) and final.dtype.kind == "f":
            last = final[written.start + ended[0], ended[1]]
            rows = np.append(rows, ended[1][nan_rows(last[None])])
        return rows

    def _fingerprints(self, written: slice) -> NDArray[np.uint64]:
        players = self._task.players
        if self._task.state_at_hand:
            return np.zeros((0, self._buffer.num_envs), "u8")
        return fingerprints(self._buffer["observation"][written, ::players])

    def _slot_of(self, name: str, span: Span) -> int:
        """Return the slot of the newest step in which a field is."""
        if len(self._buffer[name]) == 1:
            return 0
        return int((span.acted if name == "action" else span.written).stop) - 1

    def _recorded(self, env: int, span: Span) -> dict[str, Array]:
        players = self._task.players
        seats, own = slice(env * players, (env + 1) * players), slice(env, env + 1)
        return {
            name: array[
                slice(0, 1) if len(array) == 1 else span.acted if name == "action" else span.written,
                seats if name in self._per_seat else own,
            ]
            for name, array in self._buffer.items()
        }


def fingerprints(observations: Array) -> NDArray[np.uint64]:
    """Return a weighted sum of the words of each row, `(steps, rows, ...)` to `(steps, rows)`; of some, if many."""
    steps, rows = observations.shape[:2]
    plain = np.ascontiguousarray(observations).reshape(steps, rows, -1)
    words = plain.view("u4") if plain.shape[2] * plain.itemsize % 4 == 0 else plain.view("u1")
    some = words[:, :, :: ceil(words.shape[2] / MAX_WORDS)].astype("u8")
    prints: NDArray[np.uint64] = np.einsum("srw,w->sr", some, np.arange(1, 2 * some.shape[2], 2, dtype="u8"))
    return prints
