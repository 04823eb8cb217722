"""Notes each step of a watched script, so that it can be processed later, many steps at once.

Between two steps, the training evicts everything else from the caches. So the memory that a step touches here costs
more than what it computes: it touches few attributes, and copies all batches at once, as bytes.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from math import inf, nan
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...backends.core.layout import nan_rows
from ...envs.fields import Array
from .arrays import on_device
from .infos import InfoReader, Infos
from .observations import host_array

SMALL_BYTES = 16384
"""Maximum size in bytes of observations that are copied and checked for NaN together, which is faster."""
TIMED = 50
"""Steps of an environment of which it is known how long they took."""
TERMINATED, TRUNCATED, RESET, DROPPED = 1, 2, 3, 4
"""How an episode ended: by a flag, by a reset without a flag, or with its environment, which is no end."""


class RunningSums(NamedTuple):
    """Sums over steps that are several steps each.

    Attributes:
        steps: Number of steps in each, `(steps, N)`.
        returns: Returns of the episodes so far, `(steps, N)`; where one ended, its own.
        lengths: Their lengths.
    """

    steps: Array
    returns: Array
    lengths: Array


class LoggedSteps(NamedTuple):
    """Some steps of N environments.

    Attributes:
        actions: `(steps, N, numbers)`, with 0 numbers if actions are not kept.
        rewards: `(steps, N)`.
        ends: How episodes ended, `(steps, N)`; 0 where none did.
        stepped: Which environments made each step, `(steps, N)`; None: all.
        infos: The numbers of the infos, `(names, steps, N)`: of the newest step and of those that ended an episode,
            NaN of the others.
        unknown: The environments whose observations contained NaN.
        parts: The parts of rewards that have several, `(steps, N, parts)`; None if rewards are numbers.
        sums: What the log has added up itself; None: nothing.
        observations: `(steps, N, numbers)`, if they are small arrays of floating-point numbers; all unknown of
            environments that made no step.
    """

    actions: Array
    rewards: Array
    ends: Array
    stepped: Array | None
    infos: Array
    unknown: list[int]
    parts: Array | None = None
    sums: RunningSums | None = None
    observations: Array | None = None

    def until(self, step: int) -> LoggedSteps:
        """Return the first steps."""
        return self._some(slice(step))

    def after(self, step: int) -> LoggedSteps:
        """Return the other steps."""
        return self._some(slice(step, None))

    def _some(self, steps: slice) -> LoggedSteps:
        stepped = None if self.stepped is None else self.stepped[steps]
        parts = None if self.parts is None else self.parts[steps]
        arrays = self.actions[steps], self.rewards[steps], self.ends[steps], stepped, self.infos[:, steps]
        sums = None if self.sums is None else RunningSums(*(array[steps] for array in self.sums))
        observations = None if self.observations is None else self.observations[steps]
        return LoggedSteps(*arrays, self.unknown, parts, sums, observations)


class StepLog:
    """Notes steps, measures how long they took, and says when they have to be processed.

    Attributes:
        num_envs: Number of environments N.
        attention: Not 0 if the next step has to wait.
        wait: Called before a step that has to wait.
        process: Called after a step if the time is `due`, or if `capacity` steps were noted.
        due: The time of `perf_counter` from which steps are processed.
        capacity: Maximum number of noted steps.
        keeps: Whether actions are kept.
        flatten: Turns a batch of actions of several parts into one array; None if they are one.
        left: When the last step ended.
        inside: Seconds that steps took since the caller set it to 0.
        ended: Whether steps are no longer noted.
        every: Whether each step is processed at once, also if other environments have not made theirs.
        wanted: The environments after whose next steps all are processed, once that is due.
        runs: Whether nothing waits for the next step, so that it can be noted in the fastest way.
        watched: Whether somebody looks. Otherwise no observation or info is kept, so that they live as long as without
            watching.
        lock: Held while steps are noted by several threads; that of the session.
        info_reader: Reads the numbers of infos.
        on_new_keys: Called with infos that have new keys, before the step with them is noted.
        one_by_one: Whether environments are stepped one by one, and reset by their owner.
        begun: Called with an environment that is stepped by itself and what it observes first after a reset.
        seeded: Called with an environment that the script resets, or 0 for a batch, and the seed that it gives.
        kinds: Names of the types of observations, if there are several.
        timed: By environment that is stepped by itself, how long some of its last steps took, in s.
    """

    one_by_one = False

    def __init__(self, num_envs: int, *, keeps: bool) -> None:
        self.num_envs, self.keeps = num_envs, keeps
        self.attention: Sequence[int] | Array = (0,)
        self.wait: Callable[[], None] = lambda: None
        self.process: Callable[[float], None] = lambda _now: None
        self.on_new_keys: Callable[[Infos], None] = lambda _infos: None
        self.begun: Callable[[int, Any], None] = lambda _env, _observation: None
        self.seeded: Callable[[int, Any], None] = lambda _env, _seed: None
        self.kinds: set[str] = set()
        self.timed: defaultdict[int, deque[float]] = defaultdict(lambda: deque(maxlen=TIMED))
        self.due, self.capacity = inf, 1
        self.ended = self.watched = self.every = self.runs = False
        self.wanted: Container[int] = ()
        self.flatten: Callable[[Any], Array] | None = None
        self.left = perf_counter()
        self.inside = 0.0
        # Threads note the steps of their own environments, one of them processes all, and others add environments: all
        # that changes what was noted holds the lock. The session sets its own: with two locks, a thread that notes a
        # step and one that publishes at the gate could wait for each other.
        self.lock = threading.RLock()
        self.info_reader = InfoReader(1)
        self._unknown: set[int] = set()

    @property
    def rows(self) -> int:
        """Number of environments that were noted, which may be more than N."""
        return self.num_envs

    def observation(self, env: int) -> Any:
        """Return what an environment observes now."""
        raise NotImplementedError

    def last_observation(self, env: int) -> Any:
        """Return the last observation of an episode that the newest step ended, if that also reset it; else None."""
        raise NotImplementedError

    def last_action(self, env: int) -> Any:
        """Return the action of an environment in the step that was processed last, if it is no number."""
        raise NotImplementedError

    def next_actions(self) -> Any:
        """Return the actions of the step that waits, a batch of N; None if they are unknown."""
        raise NotImplementedError

    def settle_all(self) -> None:
        """Note that nothing follows: the flags of the newest steps have ended episodes."""

    def take(self) -> LoggedSteps | None:
        """Return the steps that were noted, and forget them; None if there are none."""
        raise NotImplementedError

    def watch(self, *, watched: bool, every: bool) -> None:
        """Keep what environments observe while somebody looks, and forget it then; process every step or not."""
        if self.watched and not watched:
            self.forget()
        self.watched, self.every = watched, every
        self.runs = not (every or self.attention[0] or self.ended)

    def end(self) -> None:
        """Note no steps any more."""
        self.ended, self.runs = True, False

    def forget(self) -> None:
        """Forget what environments observe and were told."""
        raise NotImplementedError

    def _knows(self, infos: Infos) -> bool:
        """Whether infos have numbers to read; new ones are announced first."""
        if self.info_reader.skips(infos):
            return False
        if self.info_reader.has_new_keys(infos):
            self.on_new_keys(infos)
        return True

    def _taken_unknown(self, *more: int) -> list[int]:
        found = sorted({*self._unknown, *more})
        self._unknown.clear()
        return found


def floats_of(observations: Any) -> Iterator[Array]:
    """Return the arrays of floating-point numbers in observations of any space, one or a batch."""
    if isinstance(observations, Mapping | tuple | list):
        for part in observations.values() if isinstance(observations, Mapping) else observations:
            yield from floats_of(part)
    elif getattr(observations, "dtype", None) is not None and not on_device(observations):
        array = host_array(observations)
        if array.dtype.kind == "f" and array.size:
            yield array


def has_nan(observation: Any) -> bool:
    """Whether the observation of one environment contains NaN."""
    return any(np.isnan(part).any() for part in floats_of(observation))


def rows_with_nan(observations: Any, num_envs: int) -> list[int]:
    """Return the environments whose part of a batch contains NaN."""
    found: set[int] = set()
    for part in floats_of(observations):
        if part.ndim and len(part) == num_envs:
            found.update(nan_rows(part[None]).tolist())
    return sorted(found)


def infos_at(numbers: Mapping[int, Array], names: int, steps: int, num_envs: int) -> Array:
    """Return the numbers of infos by step, NaN where there are none, `(names, steps, N)`."""
    found: Array = np.full((names, steps, num_envs), nan, np.float32)
    for step, known in numbers.items():
        found[: len(known), step] = known
    return found


def small_kind(observation: Any) -> tuple[np.dtype[Any] | None, int]:
    """Return dtype and size in bytes of observations that are copied whole; None and 0 for others."""
    small = isinstance(observation, np.ndarray) and observation.dtype.kind == "f" and observation.nbytes <= SMALL_BYTES
    return (observation.dtype, observation.nbytes) if small else (None, 0)
