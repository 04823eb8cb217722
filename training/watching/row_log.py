"""Notes the steps of environments that a script steps one by one: single environments, or agents.

Environments may step in any order, also in several threads, each of which notes the steps of its own environments. A
round is over when every environment has stepped, or when one of them steps again.

Of an environment that is stepped by itself, an episode is what lies between two resets, and flags say how it ended. So
whether a step with a flag ended an episode is known at the next reset or step, and until then it is held back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import nan
from operator import itemgetter
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...envs.fields import Array
from ...envs.unknown import UNKNOWN
from .arrays import flags, numbers
from .observations import each_part, host_array
from .step_log import (
    DROPPED,
    RESET,
    TERMINATED,
    TRUNCATED,
    LoggedSteps,
    StepLog,
    has_nan,
)

if TYPE_CHECKING:
    from .intercept import Noter

Small: TypeAlias = tuple[np.dtype[Any] | None, int]
PLAIN, ARRAY = (int, np.number, float), np.ndarray
LATE = 0.05  # s after which steps are processed within a round, since some environments are not stepped
ROW, ACTION, SEEN, REWARD, TERM, TRUNC, END, INFOS, STEPPED, TAKEN = range(10)
"""What is noted of a step; a list, whose end becomes known later. `TAKEN` are those that were processed."""
MOST = 32_768
"""Number of noted steps that are processed even if that is not due."""


def batch_of(value: Any) -> Any:
    """Return one observation or action of any space as a batch of one."""
    return each_part(value, lambda part: np.asarray(part)[None])


class RowLog(StepLog):
    """Notes steps of single environments.

    Args:
        num_envs: Number of environments N.
        action: How actions are kept; None if they are not.
        small: Dtype and size of observations that are copied, see `small_kind`.
        parts: Number of parts of a reward; 0 if rewards are numbers.
    """

    one_by_one = True

    def __init__(self, num_envs: int, action: np.dtype[Any] | None, small: Small, parts: int = 0) -> None:
        super().__init__(num_envs, keeps=action is not None)
        self._kind, self._size = small  # of observations that are copied
        self._events: list[list[Any]] = []
        self._grown = num_envs
        self._last: list[list[Any] | None] = [None] * num_envs
        self._stepped: set[int] = set()  # environments that have stepped since a wait
        self._missing: set[int] | None = None  # those that have made fewer steps than others; known when it is needed
        self._observed: list[Any] = [None] * num_envs
        self._final: dict[int, Any] = {}
        self._partial: set[int] = set()  # environments whose running episode was not noted from its first step on
        self._infos: list[Any] = [None] * num_envs
        self._given: dict[int, Any] = {}  # by environment, the newest action that is no number
        self._waiting: tuple[int, Any] | None = None
        self.parts = parts

    @property
    def rows(self) -> int:
        """Number of environments that were noted, which may be more than N until the next `grow`."""
        return self._grown

    def grow(self, num_envs: int) -> None:
        """Make room for more environments; their steps may be noted from now on."""
        with self.lock:
            more = max(0, num_envs - self._grown)
            self._last += [None] * more
            self._observed += [None] * more
            self._infos += [None] * more
            self._grown += more
            self._missing = None

    def observation(self, env: int) -> Any:
        return self._observed[env] if env < self._grown else None

    def last_observation(self, env: int) -> Any:
        return self._final.get(env)

    def last_action(self, env: int) -> Any:
        return self._given.get(env)

    def next_actions(self) -> Any:
        """Return the action of the step that waits, as a batch of one; None if there are several environments."""
        return None if self._waiting is None or self.num_envs > 1 else batch_of(self._waiting[1])

    def wait_for(self, row: int, action: Any) -> None:
        """Wait until the next round may begin; only needed while `attention[0]` is not 0."""
        if not self.ended and (self.runs or row in self._stepped or self.num_envs == 1):
            with self.lock:
                self.runs = False
                self._waiting = row, action
                self._last[row] = None  # the script steps on without a reset, so the step before has ended nothing
            self.wait()
            with self.lock:
                self._stepped.clear()

    def noter(self, row: int, otherwise: Noter) -> Noter:
        """Return what notes a step of an environment as `note` does, if there is nothing to it.

        It needs no lock: each thread has its own environments, and appending to a list is atomic. A step is the newest
        of its environment before others can take it. Of the time that two threads add at once, some may be lost.

        Args:
            row: The environment.
            otherwise: Notes all other calls.
        """
        log, last, append, observed, stepped = self, self._last, self._events.append, self._observed, self._stepped.add
        events, kind, size, keeps = self._events, self._kind, self._size, self.keeps

        def noted(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, entered: float) -> None:
            now = perf_counter()
            if log.runs and now < log.due and len(events) < MOST and name == "step" and not kwargs:
                try:
                    (_, action), (observation, reward, terminated, truncated, info) = args, result
                    plain = observation.__class__ is ARRAY and observation.dtype is kind and observation.nbytes == size
                    if plain and not info and keeps and isinstance(action, PLAIN):
                        log.left = now
                        log.inside += now - entered
                        if log.watched:
                            observed[row], log._infos[row] = observation, None
                        stepped(row)
                        seen = observation.tobytes()
                        event = [row, action, seen, reward, terminated, truncated, 0, None, True, False]
                        last[row] = event
                        append(event)
                        return
                except (TypeError, ValueError):
                    pass
            otherwise(name, args, kwargs, result, entered)

        return noted

    def note(  # noqa: PLR0917 - in Gymnasium's order
        self,
        row: int,
        action: Any,
        entered: float,
        observation: Any,
        reward: Any,
        terminated: Any,
        truncated: Any,
        info: Any,
        end: int = 0,
        *,
        stepped: bool = True,
    ) -> None:
        """Note a step.

        Args:
            row: The environment.
            action: Its action.
            entered: When the step began.
            observation: What it observes.
            reward: A number, or several.
            terminated: A truth value.
            truncated: A truth value.
            info: A dict, or None.
            end: How the step ended an episode, if that is known already.
            stepped: Whether it was a step; otherwise an episode began in its place.
        """
        if self.ended:
            return
        with self.lock:
            self.left = now = perf_counter()
            self.inside += now - entered
            self.timed[row].append(now - entered)
            found = None
            if info or self._infos[row] is not None:
                found = self._note_info(row, info, terminated, truncated)  # may process the steps before
            if now >= self.due + LATE and self._missing is not None and row not in self._missing:
                self.process(now)
            if self.watched:
                self._observed[row] = observation
                if not self.keeps:
                    self._given[row] = action
            if self.keeps and not isinstance(action, PLAIN):
                action = self._copied(action)
            seen = b""
            if observation.__class__ is ARRAY and observation.dtype is self._kind and observation.nbytes == self._size:
                seen = observation.tobytes()
            else:
                if self._kind is not None and observation.__class__ is ARRAY and observation.dtype != self._kind:
                    self.kinds.update((str(self._kind), str(observation.dtype)))
                if has_nan(observation):
                    self._unknown.add(row)
            end = self._known(row, end) if end else 0
            event = [row, action, seen, reward, terminated, truncated, end, found, stepped, False]
            self._last[row] = event
            self._events.append(event)
            self._stepped.add(row)
            over = now >= self.due and (self._completes_round(row) or self.every or row in self.wanted)
            if over or len(self._events) >= MOST:
                if self.watched:
                    self._waiting = row, action
                self.process(now)

    def _completes_round(self, row: int) -> bool:
        """Whether all environments have made as many steps, after a step of one of them."""
        if self._missing is None:
            counts = Counter(map(itemgetter(ROW), self._events))
            most = max(counts.values())
            self._missing = {env for env in range(self._grown) if counts[env] < most}
        self._missing.discard(row)
        return not self._missing

    def begin(self, row: int, observation: Any, *, dropped: bool = False, partial: bool = False) -> None:
        """Note that an episode began after a reset.

        Args:
            row: The environment.
            observation: What it observes.
            dropped: Whether the environment replaces another one, whose episode has not ended if it had no flag.
            partial: Whether earlier steps of the episode were not noted, so that its return and length are unknown.
        """
        with self.lock:
            self.settle(row, DROPPED if dropped else RESET)
            if partial:
                self._partial.add(row)
            self._observed[row] = observation if self.watched else None
            self.begun(row, observation)

    def _known(self, row: int, end: int) -> int:
        """Return how an episode ended, if all of its steps were noted."""
        if row in self._partial:
            self._partial.discard(row)
            return DROPPED
        return end

    def settle(self, row: int, otherwise: int = 0) -> bool:
        """Note that the newest step of an environment ended an episode, with its flags or `otherwise`, if it did."""
        with self.lock:
            return self._settle(row, otherwise)

    def _settle(self, row: int, otherwise: int) -> bool:
        event = self._last[row]
        if event is None or event[END]:
            return False
        terminated, truncated = flags(event[TERM : TRUNC + 1])
        end = TERMINATED if terminated else TRUNCATED if truncated else otherwise
        if not end:
            return False
        end = self._known(row, end)
        self._last[row] = None
        if self.watched:
            self._final[row] = self._observed[row]
        if event[TAKEN]:  # it was processed before its end was known: a slot without a step says so
            self._events.append([row, event[ACTION], b"", 0.0, False, False, end, self._numbers(row), False, False])
        else:
            event[END] = end
            if event[INFOS] is None:
                event[INFOS] = self._numbers(row)
        return True

    def settle_all(self) -> None:
        with self.lock:
            for row in range(self._grown):
                self.settle(row)

    def _note_info(self, row: int, info: Any, terminated: Any, truncated: Any) -> Array | None:
        """Note an info; return its numbers if the step may end an episode."""
        self._infos[row] = None
        if not isinstance(info, Mapping) or not info or not self._knows((info,)):
            return None
        ends = flags((terminated, truncated)).any()
        self._infos[row] = info if self.watched else None
        return self.info_reader.read((info,))[:, 0] if ends else None

    def _numbers(self, row: int) -> Array | None:
        info = self._infos[row]
        return None if info is None else self.info_reader.read((info,))[:, 0]

    def _copied(self, action: Any) -> Any:
        """Return a copy of an action as numbers; None if it has another form."""
        try:
            if self.flatten is not None:
                return self.flatten(batch_of(action))[0]
            found = host_array(action)
        except Exception:
            return None
        return found.tolist() if found.size == 1 else found.copy()

    def forget(self) -> None:
        self._observed[:] = self._infos[:] = [None] * self._grown
        self._final.clear()
        self._given.clear()
        self._waiting = None

    def take(self) -> LoggedSteps | None:
        """Return the steps that were noted, and forget them; None if there are none.

        A newest step with a flag is kept back, unless every step is to be processed.
        """
        with self.lock:
            events = self._events[:]
            del self._events[: len(events)]  # other threads may have appended more
            self._missing = None
            kept = [] if self.every else [event for event in self._last if event is not None and _is_open(event)]
            if kept:
                held = set(map(id, kept))
                kept = [event for event in events if id(event) in held]  # without one that a thread is about to append
                events = [event for event in events if id(event) not in held]
                self._events[:0] = kept
            return self._columns(events, {event[ROW] for event in kept}) if events else None

    def _columns(self, events: list[list[Any]], held: set[int]) -> LoggedSteps:
        """Return noted steps as arrays; of the `held` environments, the newest step is not among them."""
        counts, slots = [0] * self._grown, []
        for event in events:
            event[TAKEN] = True
            slots.append(counts[event[ROW]])
            counts[event[ROW]] += 1
        rows, actions, seen, rewards, _, _, ends, infos, stepped, _ = zip(*events, strict=True)
        shape = max(slots) + 1, self._grown
        at = np.array(slots), np.array(rows)
        gained, parts = self._rewards(rewards, shape, at)
        self._check(seen, rows)
        found = {(slot, row): known for slot, row, known in zip(slots, rows, infos, strict=True) if known is not None}
        for row, slot in dict(zip(rows, slots, strict=True)).items():  # the newest step of each
            if self._infos[row] is not None and row not in held:
                found.setdefault((slot, row), self._numbers(row))
        numbers_of = np.full((len(self.info_reader.names), *shape), nan, np.float32)
        for (slot, row), known in found.items():
            numbers_of[: len(known), slot, row] = known
        return LoggedSteps(
            self._placed(actions, shape, at),
            gained,
            _placed(np.array(ends, np.uint8), shape, at),
            _placed(np.array(stepped, np.bool_), shape, at),
            numbers_of,
            self._taken_unknown(),
            parts,
            observations=self._seen(seen, shape, at),
        )

    def _rewards(self, rewards: Any, shape: tuple[int, int], at: Any) -> tuple[Array, Array | None]:
        """Return rewards, and their parts if they have several."""
        if self.parts:
            parts = np.zeros((len(rewards), self.parts))
            for index, reward in enumerate(rewards):
                several = host_array(reward).reshape(-1)[: self.parts]
                parts[index, : len(several)] = several
            placed = np.zeros((*shape, self.parts))
            placed[at] = parts
            return placed.sum(axis=2), placed
        return _placed(numbers(rewards, len(rewards)), shape, at), None

    def _placed(self, actions: Any, shape: tuple[int, int], at: Any) -> Array:
        """Return actions `(steps, N, numbers)`."""
        if not self.keeps:
            return np.zeros((*shape, 0))
        shapes = {np.shape(action) for action in actions if action is not None}
        if len(shapes) != 1:
            return np.zeros((*shape, 0))
        empty = np.zeros(shapes.pop())
        given = np.array([empty if action is None else action for action in actions]).reshape(len(actions), -1)
        if given.dtype.kind not in "biuf":
            return np.zeros((*shape, 0))
        placed: Array = np.zeros((*shape, given.shape[1]), given.dtype)
        placed[at] = given
        return placed

    def _seen(self, seen: Any, shape: tuple[int, int], at: Any) -> Array | None:
        """Return the copied observations; None if there are none."""
        known = [index for index, one in enumerate(seen) if one]
        if not known:
            return None
        flat = np.frombuffer(b"".join(seen), self._kind).reshape(len(known), -1)
        placed = np.full((*shape, flat.shape[1]), UNKNOWN, np.float32)
        with np.errstate(all="ignore"):  # numbers beyond those of single precision become infinite
            placed[at[0][known], at[1][known]] = flat
        return placed

    def _check(self, seen: Any, rows: Any) -> None:
        """Note which copied observations contain NaN."""
        copied = b"".join(seen)
        if copied and np.isnan(flat := np.frombuffer(copied, self._kind)).any():
            own = [row for row, one in zip(rows, seen, strict=True) if one]
            bad = np.isnan(flat.reshape(len(own), -1)).any(axis=1)
            self._unknown.update(row for row, is_bad in zip(own, bad.tolist(), strict=True) if is_bad)


def _is_open(event: list[Any]) -> bool:
    """Whether it is not known yet if a step has ended an episode."""
    return bool(not event[END] and not event[TAKEN] and (event[TERM] or event[TRUNC]))


def _placed(values: Array, shape: tuple[int, int], at: Any) -> Array:
    placed: Array = np.zeros(shape, values.dtype)
    placed[at] = values
    return placed
