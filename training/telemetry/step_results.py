"""What counters, guards, history and recorder read of the environments' steps.

They do not read the buffer themselves. They request the steps that were written, and get the results when these are
delivered: at once from a buffer in the memory of the host, later from a device, which computes the sums and copies the
rest while the training goes on.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...backends.core.layout import Buffer, Fetched, nan_rows
from ...envs import Task
from ...envs.fields import DECIDES, PLAYED, Array
from ...envs.slots import Span
from .moments import info_scalars
from .records import TRUNCATED

MAX_WORDS = 256
WRITTEN = (
    *("action", "reward", "terminated", "truncated"),
    *("episode", "episode_return", "episode_length", "outcome"),
)
"""The fields of whole slots that are read of every step, with the terms of the reward and the task's scalars."""
STEPS, COMPUTED, NEWEST = "steps", "computed", "newest"
"""Groups of what is read: of all steps, computed of them, after the newest one. A recorded environment is a group."""


@dataclass(frozen=True)
class StepResults:
    """Consecutive steps of all environments, in the memory of the host.

    Arrays may be views of a buffer on the host, so they are used before the next step.

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
        fingerprints: Of the first seats' observations, `(steps, N)`; `(0, N)` where a state says all, or of a script.
        values: Value estimates of the decisions, `(steps, rows)`; None without estimates.
        states: The states after the newest step, `(N, *stored_shape)`, if they were requested.
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
    values: Array | None
    states: Array | None
    newest: Mapping[str, Array]
    recorded: Mapping[int, Mapping[str, Array]]


class StepReader:
    """Reads steps from a buffer, wherever that is."""

    def __init__(self, task: Task, buffer: Buffer) -> None:
        self._task, self._buffer = task, buffer
        self._scalars = info_scalars(task)
        self._per_seat = {item.name for item in task.fields if item.per == "seat"}
        terms = ("reward_terms",) if task.reward_terms else ()
        self._needed = (*WRITTEN, *terms, *(item.name for item in self._scalars))
        self._requested: deque[tuple[Span, Collection[int], Fetched]] = deque()

    def request(
        self,
        span: Span,
        *,
        newest: Collection[str] = (),
        recorded: Collection[int] = (),
        values: Any = None,
        states: bool = False,
    ) -> None:
        """Ask for the results of steps; returns at once.

        Args:
            span: The slots of the steps.
            newest: Fields to read whole after the newest of the steps.
            recorded: Environments of which all fields are read at all of the steps.
            values: Value estimates of the decisions, `(steps, rows)`, where the buffer is.
            states: Whether to read the states that environments have now.
        """
        read: list[tuple[str | int, str, Any]] = [(STEPS, name, self._slots_of(name, span)) for name in self._needed]
        read += [(NEWEST, name, self._slot_of(name, span)) for name in newest]
        read += [(env, *part) for env in recorded for part in self._recorded(env, span)]
        if not (self._task.state_at_hand or self._task.watched):
            read.append((STEPS, "observation", (span.written, slice(None, None, self._task.players))))
        if states:
            read.append((STEPS, "state", 0))
        computed = self._computed(span) | ({} if values is None else {"values": values})
        fetched = self._buffer.fetch(
            {(group, name): (name, index) for group, name, index in read},
            {(COMPUTED, name): each for name, each in computed.items()},
        )
        self._requested.append((span, recorded, fetched))

    def delivered(self, *, wait: bool = False) -> list[StepResults]:
        """Return the results that have arrived since the last call, oldest first; `wait` for all if asked to."""
        found = []
        while self._requested and self._requested[0][2].has_arrived(wait=wait):
            span, recorded, fetched = self._requested.popleft()
            groups: defaultdict[str | int, dict[str, Any]] = defaultdict(dict)
            for (group, name), array in fetched.arrays.items():
                groups[group][name] = array
            others = {"newest": groups[NEWEST], "recorded": {env: groups[env] for env in recorded}}
            found.append(self._results(span, groups[STEPS], groups[COMPUTED], **others))
        return found

    def _computed(self, span: Span) -> dict[str, Any]:
        """Compute sums and the like where the fields are: in arrays, or in tensors, whose operators are the same."""
        buffer, players = self._buffer, self._task.players
        fields = buffer if buffer.tensors is None else buffer.tensors
        decides = fields["active"][span.written] == DECIDES
        if players > 1:  # a step of an environment is one, whichever of its seats decide
            decides = decides.reshape(len(decides), -1, players).any(2)
        # Where episodes begin at the next step, that step ignores its action, and the slot that it writes says so.
        acting = fields["active"][span.acted if self._task.begins_at_once else span.written]
        return {
            "frames": (frames := fields["frames"][span.written].sum()),
            "decisions": frames if self._task.watched else decides.sum(),
            "decided": (acting == DECIDES) | (acting == PLAYED),
            "nan_observations": buffer.nan_observations(span.written),
        }

    def _results(
        self, span: Span, arrays: Mapping[str, Any], computed: Mapping[str, Any], **others: Any
    ) -> StepResults:
        players = self._task.players
        terminated, truncated = (arrays[name][:, ::players] for name in ("terminated", "truncated"))
        ends = terminated + TRUNCATED * (truncated > terminated)
        steps, envs = ends.nonzero()
        returns = arrays["episode_return"]
        return StepResults(
            span=span,
            frames=int(computed["frames"]),
            decisions=int(computed["decisions"]),
            actions=arrays["action"],
            decided=computed["decided"],
            rewards=arrays["reward"],
            reward_terms=arrays["reward_terms"] if self._task.reward_terms else np.zeros((0, 0, 0), "f4"),
            ends=ends,
            ended_steps=steps,
            ended_envs=envs,
            returns=returns.reshape(len(returns), -1, players)[steps, envs],
            lengths=arrays["episode_length"][steps, envs],
            outcomes=arrays["outcome"][steps, envs],
            infos=tuple(
                arrays[item.name][steps if item.timed else 0, envs * players if item.per == "seat" else envs]
                for item in self._scalars
            ),
            episodes=arrays["episode"][0],
            nan_returns=nan_rows(returns),
            nan_observations=np.flatnonzero(computed["nan_observations"]),
            fingerprints=self._fingerprints(arrays),
            values=computed.get("values"),
            states=arrays.get("state"),
            **others,
        )

    def _fingerprints(self, arrays: Mapping[str, Any]) -> NDArray[np.uint64]:
        if self._task.state_at_hand or self._task.watched:
            return np.zeros((0, self._buffer.num_envs), "u8")
        return fingerprints(arrays["observation"])

    def _slots_of(self, name: str, span: Span) -> slice:
        """Return the slots in which a field of some steps is."""
        return slice(1) if len(self._buffer[name]) == 1 else span.acted if name == "action" else span.written

    def _slot_of(self, name: str, span: Span) -> int:
        """Return the slot of the newest step in which a field is."""
        return int(self._slots_of(name, span).stop) - 1

    def _recorded(self, env: int, span: Span) -> list[tuple[str, Any]]:
        players = self._task.players
        seats, own = slice(env * players, (env + 1) * players), slice(env, env + 1)
        return [(name, (self._slots_of(name, span), seats if name in self._per_seat else own)) for name in self._buffer]


def fingerprints(observations: Array) -> NDArray[np.uint64]:
    """Return a weighted sum of the words of each row, `(steps, rows, ...)` to `(steps, rows)`; of some, if many."""
    steps, rows = observations.shape[:2]
    plain = np.ascontiguousarray(observations).reshape(steps, rows, -1)
    words = plain.view("u4") if plain.shape[2] * plain.itemsize % 4 == 0 else plain.view("u1")
    some = words[:, :, :: max(1, ceil(words.shape[2] / MAX_WORDS))].astype("u8")
    prints: NDArray[np.uint64] = np.einsum("srw,w->sr", some, np.arange(1, 2 * some.shape[2], 2, dtype="u8"))
    return prints
