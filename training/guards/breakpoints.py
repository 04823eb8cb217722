"""Breakpoints: conditions that the training thread checks after every step, and that pause the training."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...backends.core.status import EnvStatus
from ...envs import Field, Task
from ...envs.fields import Array
from ..limits import MAX_ENVS
from ..telemetry.moments import info_scalars
from ..telemetry.records import BREAKPOINT, MAX_BREAKPOINTS
from ..telemetry.step_results import StepResults
from .conditions import WORDS, BadCondition, Condition, parse

FIELDS = {"length": "episode_length", "frames": "frames", "hung": "status"}
SEAT_FIELDS = {"reward": "reward", "return": "episode_return", "action": "action"}
COMPUTED = {"value", "entropy", "obs", "terminated", "truncated", "ended"}
NAN_OBS = re.compile(r"\bnan\s*\(\s*obs\s*\)")


def condition_names(task: Task) -> tuple[str, ...]:
    """Return the names that a condition may use: the standard ones, the task's info and its outcomes."""
    own = (*(item.name for item in info_scalars(task)), *(outcome.name for outcome in task.outcomes))
    return condition_names_with(own, action=not task.action.shape)


def condition_names_with(own: Iterable[str], *, action: bool) -> tuple[str, ...]:
    """Return the names that a condition may use: the standard ones, `action` if that is one number, and `own` ones."""
    standard = {*FIELDS, *SEAT_FIELDS, *COMPUTED} - {"action"}
    names = (*sorted(standard), *(("action",) if action else ()), *map(_identifier, own))
    return tuple(name for name in dict.fromkeys(names) if name not in WORDS)


def _info(task: Task) -> dict[str, Field]:
    """Return the task's scalars by the names that conditions use."""
    return {_identifier(item.name): item for item in info_scalars(task)}


def _outcomes(task: Task) -> dict[str, int]:
    """Return the values of the field `outcome` by name."""
    return {_identifier(outcome.name): 1 + index for index, outcome in enumerate(task.outcomes)}


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def fields_of(task: Task, names: Iterable[str]) -> set[str]:
    """Return the fields of the buffer from which conditions with these names, and ends of episodes, are computed."""
    info, outcomes = _info(task), _outcomes(task)
    found = {"terminated", "truncated"}
    for name in names:
        if field := FIELDS.get(name) or SEAT_FIELDS.get(name):
            found.add(field)
        elif name in info:
            found.add(info[name].name)
        elif name in outcomes:
            found.add("outcome")
    return found


class ConditionValues:
    """The values of names after the newest of some steps. Each is computed when a condition needs it.

    Args:
        results: The steps, with the fields that the names are computed from.
        entropy: Returns the entropy of the policy's action distribution in a row; NaN if unknown.
    """

    def __init__(self, task: Task, results: StepResults, *, entropy: Callable[[int], float]) -> None:
        self._task, self._results, self._entropy = task, results, entropy
        self._known: dict[str, Array] = {}

    def has(self, names: Iterable[str]) -> bool:
        """Return whether the fields from which these names are computed were read."""
        return fields_of(self._task, names) <= self._results.newest.keys()

    def __call__(self, name: str) -> Array:
        """Return the values of a name, `(rows,)`; a value of an environment is repeated for each of its seats."""
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    @property
    def players(self) -> int:
        """Seats of an environment."""
        return self._task.players

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Which seats ended an episode at this step."""
        return self("ended")

    def _read(self, name: str) -> Array:
        newest = self._results.newest
        values: Array = np.zeros(len(newest["terminated"]))
        match name:
            case "terminated" | "truncated":
                values = np.not_equal(newest[name], 0)
            case "ended":
                values = self("terminated") | self("truncated")
            case "hung":  # the worker hangs or has died, and is not replaced yet
                values = self._shared(newest["status"] != EnvStatus.READY)
            case "obs":  # NaN if the observation, or the last one of an episode, contains a NaN
                values[self._results.nan_observations] = np.nan
            case "value":
                values[:] = np.nan if (found := self._results.values) is None else found[-1]
            case "entropy":
                values[:] = [self._entropy(row) for row in range(len(values))]
            case _ if name in SEAT_FIELDS:
                values = newest[SEAT_FIELDS[name]]
            case _ if name in FIELDS:
                values = self._shared(newest[FIELDS[name]])
            case _ if name in (outcomes := _outcomes(self._task)):
                values = self._shared(np.equal(newest["outcome"], outcomes[name]))
            case _:
                item = _info(self._task)[name]
                values = newest[item.name] if item.per == "seat" else self._shared(newest[item.name])
        return values

    def _shared(self, values: Array) -> Array:
        """Repeat the values of environments for each of their seats."""
        return np.repeat(values, self.players)


@dataclass
class Breakpoint:
    """A condition and its hits.

    Attributes:
        number: Its number, from 1.
        on: Whether it is enabled.
        hits: How often it has paused the training.
        env: The environment of the last hit; -1 before the first.
        was_true: The rows in which it was true at the previous step, `(rows,)`.
    """

    number: int
    condition: Condition
    on: bool = True
    hits: int = 0
    env: int = -1
    was_true: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    def new_rows(self, readings: ConditionValues) -> NDArray[np.intp]:
        """Return the rows where it is true, and was false at the previous step of the same episode."""
        ended = readings.ended
        count = len(ended)
        now = np.zeros(count, np.bool_)
        now[self.condition.hits(readings, count, readings.players)] = True
        found = now & ~self.was_true if len(self.was_true) == count else now
        self.was_true = now & ~ended
        return np.flatnonzero(found)


class Breakpoints:
    """A session's breakpoints. Any thread may change them, the training thread checks them.

    Attributes:
        enabled: The breakpoints that are checked.
        hit: The environments where breakpoints hit at the last step.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._names = condition_names(task)
        self._lock = threading.Lock()
        self._all: dict[int, Breakpoint] = {}
        self._count = 0
        self.enabled: tuple[Breakpoint, ...] = ()
        self.hit: tuple[int, ...] = ()

    def update_task(self, task: Task) -> None:
        """Accept the names of a task that has more scalars."""
        self._task, self._names = task, condition_names(task)

    def add(self, text: str, num_envs: int = MAX_ENVS) -> int:
        """Add a breakpoint; return its number.

        Args:
            text: A condition, see `conditions`.
            num_envs: Number of environments.

        Raises:
            BadParameter: The text is not a condition, or there are too many breakpoints.
        """
        if len(self._all) == MAX_BREAKPOINTS:
            raise BadCondition(f"limit of {MAX_BREAKPOINTS} breakpoints reached: remove one first")
        condition = parse(text, self._names, num_envs)
        if "obs" in condition.names and re.search(r"\bobs\b", NAN_OBS.sub("", text)):
            raise BadCondition("an observation is not a single number: use obs only in nan(obs)")
        with self._lock:
            self._count += 1
            self._all[self._count] = Breakpoint(self._count, condition)
            self._update_enabled()
            return self._count

    def toggle(self, number: int) -> None:
        """Disable a breakpoint, or enable it again.

        Raises:
            BadCondition: There is no breakpoint with that number.
        """
        with self._lock:
            found = self._find(number)
            found.on, found.was_true = not found.on, found.was_true[:0]
            self._update_enabled()

    def remove(self, number: int) -> None:
        """Remove a breakpoint.

        Raises:
            BadCondition: There is no breakpoint with that number.
        """
        with self._lock:
            del self._all[self._find(number).number]
            self._update_enabled()

    def _find(self, number: int) -> Breakpoint:
        if number not in self._all:
            known = ", ".join(map(str, self._all)) or "none"
            raise BadCondition(f"there is no breakpoint {number}; known: {known}")
        return self._all[number]

    def _update_enabled(self) -> None:
        self.enabled = tuple(item for item in self._all.values() if item.on)

    @property
    def fields(self) -> set[str]:
        """The fields of the buffer that must be read after every step."""
        enabled = self.enabled
        return fields_of(self._task, (name for item in enabled for name in item.condition.names)) if enabled else set()

    def check(self, readings: ConditionValues) -> str:
        """Check all enabled breakpoints after a step; return a sentence if one hits, else an empty text."""
        self.hit, message = (), ""
        for item in self.enabled:
            if not readings.has(item.condition.names):  # it was added after the steps were requested
                continue
            found = item.new_rows(readings)
            if len(found):
                envs = (found // readings.players).tolist()
                item.hits, item.env = item.hits + 1, envs[0]
                self.hit = tuple(dict.fromkeys((*self.hit, *envs)))
                message = message or _hit_message(item.condition, readings, found)
        return message

    def reset(self) -> None:
        """Forget where breakpoints hit or were true, because the environments are replaced."""
        self.hit = ()
        for item in self.enabled:
            item.was_true = item.was_true[:0]

    def write(self, block: Array) -> None:
        """Write all breakpoints into a block of `BREAKPOINT`."""
        with self._lock:
            kept = list(self._all.values())
        block[len(kept) :] = np.zeros((), BREAKPOINT.dtype)
        for index, item in enumerate(kept):
            text = item.condition.text.encode(errors="backslashreplace")
            block[index] = item.number, item.on, item.hits, item.env, text


def _hit_message(condition: Condition, readings: ConditionValues, found: NDArray[np.intp]) -> str:
    """Return a sentence with the first environment where a condition is true, and the values there."""
    row, players = int(found[0]), readings.players
    values = {name: readings(name) for name in sorted(condition.names - {"obs"})}
    numbers = [f"{name} {column[row]:.4g}" for name, column in values.items() if column.dtype != np.bool_]
    shown = f" ({', '.join(numbers)})" if numbers else ""
    others = len(np.unique(found // players)) - 1
    more = f", and in {others:,} more" if others else ""
    seat = f", seat {row % players + 1}" if players > 1 else ""
    return f"break: env {row // players + 1}{seat}: {condition.expression}{shown}{more}"
