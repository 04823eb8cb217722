"""Copies each step of a watched script, so that it can be processed later, many steps at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, nan
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...backends.core.layout import nan_rows
from ...envs.fields import Array
from .infos import InfoReader, Infos

SMALL_BYTES = 4096
"""Maximum size in bytes of batches that are copied and checked for NaN together, which is faster than one by one."""
REAL, FLAG = np.dtype(np.float64), np.dtype(np.bool_)
NOTHING = np.zeros(0)
Result: TypeAlias = tuple[Any, Any, Any, Any, Any]
COLUMNS = ("action", "reward", "terminated", "truncated", "observation")
join = b"".join


class LoggedSteps(NamedTuple):
    """Some steps of N environments.

    Attributes:
        actions: `(steps, N, numbers)`, with 0 numbers if actions are not kept.
        rewards: `(steps, N)`.
        terminated: `(steps, N)`.
        truncated: `(steps, N)`.
        infos: The numbers of the infos, `(names, steps, N)`: of the newest step and of those that ended an episode,
            NaN of the others.
        unknown: The environments whose observations contained NaN.
    """

    actions: Array
    rewards: Array
    terminated: Array
    truncated: Array
    infos: Array
    unknown: list[int]


class StepLog:
    """Copies the actions and results of the steps of N environments, and measures how long they took.

    Between two steps, the training evicts everything else from the caches. So the memory that a step touches here costs
    more than what it computes: it touches a few attributes in slots, and copies all batches at once, as bytes.

    Attributes:
        attention: Not 0 if the next step has to wait.
        wait: Called before a step that has to wait.
        process: Called after a step if the time is `due`, or if `capacity` steps were recorded.
        due: The time of `perf_counter` from which steps are processed.
        capacity: Maximum number of recorded steps.
        actions: The unchanged actions of the step that waits or was processed last.
        flatten: Turns actions of several parts into one array; None if they are one.
        observations: The newest observations.
        last_observations: By environment, the last observation of an episode that the newest step ended, if the step
            also reset the environment; None if none is known.
        entered: When the last step began for which `before` was called.
        left: When it ended.
        inside: Seconds that steps took since the caller set it to 0.
        ended: Whether steps are no longer recorded.
        info_reader: Reads the numbers of infos.
        on_new_keys: Called with infos that have new keys, before the step with them is recorded.
    """

    __slots__ = (
        "_action",
        "_ends",
        "_kinds",
        "_layout",
        "_newest",
        "_num_envs",
        "_small",
        "_steps",
        "_unknown",
        "actions",
        "attention",
        "capacity",
        "due",
        "ended",
        "entered",
        "flatten",
        "info_reader",
        "inside",
        "last_observations",
        "left",
        "observations",
        "on_new_keys",
        "process",
        "wait",
    )

    def __init__(
        self,
        num_envs: int,
        action: np.dtype[Any] | None = None,
        observations: Any = None,
    ) -> None:
        """Begin with no steps.

        Args:
            num_envs: Number of environments N.
            action: How actions are kept that are not arrays of numbers; None if they are not kept.
            observations: A first batch.
        """
        self._num_envs = num_envs
        self._action = action
        self._small = _is_real(observations) and observations.nbytes <= SMALL_BYTES
        self._kinds: tuple[np.dtype[Any], ...] = ()
        self._layout = np.dtype([])
        self._steps: list[Any] = []
        self._ends: dict[int, Array] = {}  # the numbers of infos, of steps that ended an episode
        self._newest: Infos | None = None  # the infos of the newest step, if they have numbers
        self._unknown: set[int] = set()
        self.attention: Sequence[int] | Array = (0,)
        self.wait: Callable[[], None] = lambda: None
        self.process: Callable[[float], None] = lambda _now: None
        self.on_new_keys: Callable[[Infos], None] = lambda _infos: None
        self.info_reader = InfoReader(num_envs)
        self.due, self.capacity, self.ended = inf, 1, False
        self.actions: Any = None
        self.flatten: Callable[[Any], Array] | None = None
        self.observations = observations
        self.last_observations: Sequence[Any] | Array | None = None
        self.entered = self.left = perf_counter()
        self.inside = 0.0

    def wait_for(self, actions: Any) -> None:
        """Wait until the next step, with these actions, may be; only needed while `attention[0]` is not 0."""
        if not self.ended:
            self.actions = actions
            self.wait()

    def before(self, actions: Any) -> None:
        """Record that a step begins, as soon as it may; `after` records its result."""
        if self.attention[0]:
            self.wait_for(actions)
        self.actions, self.entered = actions, perf_counter()

    def after(self, result: Result, last: Sequence[Any] | Array | None = None) -> None:
        """Record the step that began last; see `note`."""
        self.note(self.actions, self.entered, result, last)

    def note(self, actions: Any, entered: float, result: Result, last: Sequence[Any] | Array | None = None) -> None:
        """Copy the result of a step, whose batches the owner may overwrite afterwards.

        Args:
            actions: What the environments were given.
            entered: When the step began.
            result: Observations, rewards, terminations, truncations and infos, in batches of N.
            last: By environment, the last observations of episodes that ended in this step, if it also reset them.
        """
        if self.ended:
            return
        self.left = now = perf_counter()
        self.inside += now - entered
        observations, rewards, terminated, truncated, infos = result
        if infos or self._newest is not None:
            self._note_infos(infos, terminated, truncated)
        self.observations, self.last_observations = observations, last
        given = actions
        if self.flatten is not None:
            given = self.flatten(actions)
        elif self._action is None:
            given = NOTHING
        if last is not None:
            self._look_at_last(last)
        if not self._small:
            self._look(observations)
            observations = NOTHING
        try:
            kinds = (given.dtype, rewards.dtype, terminated.dtype, truncated.dtype, observations.dtype)
            if kinds == self._kinds:
                step = join((given, rewards, terminated, truncated, observations))
            else:
                step = self._alike(given, rewards, terminated, truncated, observations)
        except (AttributeError, BufferError, TypeError, ValueError):  # a list, or an array that is not in one piece
            step = self._alike(given, rewards, terminated, truncated, observations)
        steps = self._steps
        steps.append(step)
        if now >= self.due or len(steps) >= self.capacity:
            self.actions = actions
            self.process(now)

    def _note_infos(self, infos: Infos, terminated: Any, truncated: Any) -> None:
        """Record the numbers of infos, of the newest step and of steps that ended an episode."""
        self._newest = None
        if infos and not self.info_reader.skips(infos):
            if self.info_reader.has_new_keys(infos):
                self.on_new_keys(infos)
            self._newest = infos
            if np.logical_or(terminated, truncated).any():
                self._ends[len(self._steps)] = self.info_reader.read(infos)

    def _alike(self, *batches: Any) -> bytes:
        """Return a step as bytes, with the types of the first step."""
        if not self._kinds:
            arrays = [np.asarray(batch) for batch in batches]
            action, reward, _, _, observation = (array.dtype for array in arrays)
            action = self._action if self._action is not None and action.hasobject else action
            self._kinds = (action, reward if reward.kind == "f" else REAL, FLAG, FLAG, observation)
            sizes = (array.size for array in arrays)
            self._layout = np.dtype(list(zip(COLUMNS, self._kinds, sizes, strict=True)))
        pairs = zip(batches, self._kinds, strict=True)
        return join(np.asarray(batch, kind).tobytes() for batch, kind in pairs)

    def _look(self, observations: Any) -> None:
        """Record which observations contain NaN."""
        for part in floats_of(observations):
            self._unknown.update(nan_rows(part[None]).tolist())

    def _look_at_last(self, last: Sequence[Any] | Array) -> None:
        """Record which last observations contain NaN."""
        for env, observation in enumerate(last):
            if observation is not None and any(np.isnan(part).any() for part in floats_of(observation)):
                self._unknown.add(env)

    def take(self) -> LoggedSteps | None:
        """Return the steps that were noted, and forget them; None if there are none."""
        count, envs = len(self._steps), self._num_envs
        if not count:
            return None
        steps = np.frombuffer(join(self._steps), self._layout)
        actions, observations = (steps[name].reshape(count, envs, -1) for name in ("action", "observation"))
        infos = self._numbers_of_infos(count)
        unknown = sorted({*self._unknown, *nan_rows(observations).tolist()})
        self._steps.clear()
        self._unknown.clear()
        flags = steps["terminated"], steps["truncated"]
        return LoggedSteps(actions, steps["reward"], *flags, infos, unknown)

    def _numbers_of_infos(self, count: int) -> Array:
        """Return the numbers of the infos of `count` steps, and forget them."""
        numbers = np.full((len(self.info_reader.names), count, self._num_envs), nan, np.float32)
        if self._newest is not None:
            self._ends[count - 1] = self.info_reader.read(self._newest)
        for step, found in self._ends.items():
            numbers[:, step] = found
        self._ends.clear()
        self._newest = None
        return numbers


def floats_of(observations: Any) -> Iterator[Array]:
    """Return the arrays of floating-point numbers in observations of any space, one or a batch."""
    if _is_real(observations):
        yield observations
    elif isinstance(observations, Mapping | tuple):
        for part in observations.values() if isinstance(observations, Mapping) else observations:
            yield from floats_of(part)


def _is_real(batch: Any) -> bool:
    return isinstance(batch, np.ndarray) and batch.dtype.kind == "f"
