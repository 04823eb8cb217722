"""The last steps of every environment: actions, rewards, values and ends; entropies of those that are looked at.

Step t leads to state t; state 0 is the first state of a backend. The steps are appended whenever the monitor counts. If
the task has a state, it is kept every few steps. If no state is in the buffer after every step, the boards that were
drawn are kept, since the environments may not be deterministic. Everything else is rebuilt by replaying actions, see
`rerun`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...backends.core.layout import Buffer
from ...envs import Task
from ...envs.fields import Array, Field
from ...envs.task import LAST_DRAWN
from ...envs.unknown import UNKNOWN
from ..telemetry.moments import RecentSteps, drawn_fields, field_named, info_scalars
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.records import MAX_STEPS_BACK
from ..telemetry.step_results import StepResults, fingerprints
from .drawn_boards import MAX_BYTES, DrawnBoards, SeenSteps, zeros_by_page

MAX_DEPTH, MIN_DEPTH = 4096, 1024
MAX_UNCOUNTED = 64
"""Steps between two keyframes, and the most between two counts."""
NOTED = np.dtype([("step", "i8"), ("entropy", "f4")])


@dataclass(frozen=True)
class Keyframe:
    """The states after one step, with the reward terms of the running episodes so far, `(rows, terms)`."""

    step: int
    states: Array
    terms: NDArray[np.float32]


@dataclass(frozen=True)
class RerunSpan:
    """The steps `first + 1 .. first + len(actions)` of one environment, and how to get to state `first`.

    Attributes:
        env: Which environment, from 0.
        episode: Its episode in state `first`, from 0.
        first: The number of the state that it begins with.
        state: That state's bytes, as `state` in the buffer; None if it is the first state of the episode.
        terms: The sums of the reward terms in the episode up to that state, `(players, terms)`.
        actions: `(steps, players, *action_shape)`.
        rewards: `(steps, players)`.
        ends: `(steps,)`: 0, or how an episode ended: 1 terminated, 2 truncated.
        prints: Fingerprints of the observations, `(1 + steps,)`, from that of state `first` on; empty if not needed.
        values: The first seat's value estimate of the state before each step, `(steps,)`; empty if there are none.
    """

    env: int
    episode: int
    first: int
    state: Array | None
    terms: NDArray[np.float32]
    actions: Array
    rewards: NDArray[np.float32]
    ends: NDArray[np.uint8]
    prints: NDArray[np.uint64]
    values: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))


class PastDecision(NamedTuple):
    """One step of one seat.

    Attributes:
        decided: Whether the seat decided. If not, its action has no meaning.
        value: The value estimate of the state before the step; NaN if there is none.
        reward: The reward of the step.
        end: 0, or how it ended the episode: 1 terminated, 2 truncated.
    """

    action: Array
    decided: bool
    value: float
    reward: float
    end: int


class EpisodeSoFar(NamedTuple):
    """The episode of a seat as of some step.

    Attributes:
        number: Its number, from 0.
        gained: The sum of the seat's rewards up to that step; NaN if unknown.
        length: Number of steps up to that step; -1 if unknown.
    """

    number: int
    gained: float
    length: int


class History:
    """A ring of steps, written by the training thread; other threads read it through its methods.

    Attributes:
        num_envs: Number of environments N.
        now: The newest step.
    """

    def __init__(self, task: Task, num_envs: int) -> None:
        players, action = task.players, field_named(task, "action")
        kept = _kept(action)
        self._depth = max(MIN_DEPTH, min(MAX_DEPTH, MAX_BYTES // step_bytes(task, num_envs)))
        self._task, self.num_envs = task, num_envs
        self._lock = threading.Lock()
        self._actions = zeros_by_page((self._depth, num_envs * players, *action.shape), kept)
        self._decided = zeros_by_page((self._depth, num_envs * players), "?")
        self._values = zeros_by_page((self._depth, num_envs * players), "f4")
        self._rewards = zeros_by_page((self._depth, num_envs * players), "f4")
        self._ends = np.zeros((self._depth, num_envs), "u1")
        known = task.state_at_hand or task.watched
        self._prints = np.zeros((0 if known else self._depth + 1, num_envs), "u8")
        self._episodes = np.zeros(num_envs, "i8")
        self.resumed = False
        self._first_returns, self._first_lengths = np.zeros(num_envs * players, "f4"), np.zeros(num_envs, "i4")
        self._keyframes: list[Keyframe] = []
        most = 0
        if task.state:
            most = min(MAX_STEPS_BACK // MAX_UNCOUNTED + 2, MAX_BYTES // (task.state.row_bytes * num_envs))
        self._most_keyframes = most if most >= 2 else 0  # as many as the budget holds; none if it does not hold two
        self._stride = max(MAX_UNCOUNTED, ceil(MAX_STEPS_BACK / (most - 1))) if most >= 2 else 0
        self._boards = None if task.state_at_hand else DrawnBoards(task, num_envs)
        self._seen = _seen_steps(task, num_envs)
        self._noted: dict[int, Array] = {}  # by row: rings of entropies with the numbers of their steps
        self.now = 0
        self._expected, self._newest_keyframe = (
            0,
            0,
        )  # the newest step that was requested, and the newest with its states

    @property
    def back(self) -> int:
        """How many steps a viewer can go back from the newest one."""
        return min(MAX_STEPS_BACK, self.now)

    @property
    def _oldest(self) -> int:
        """The oldest state after which all steps are kept."""
        return max(0, self.now - self._depth)

    def _keeps(self, step: int) -> bool:
        return self._oldest < step <= self.now

    def _places(self, first: int, last: int) -> NDArray[np.intp]:
        """Return the places of steps `first + 1 .. last` in the ring."""
        return np.arange(first + 1, last + 1) % self._depth

    # -- the training thread ------------------------------------------------------------------------------------------

    def update_task(self, task: Task) -> None:
        """Continue with a task that has other boards, of which none is kept yet."""
        with self._lock:
            if drawn_fields(task) != drawn_fields(self._task) and self._boards is not None:
                self._boards = DrawnBoards(task, self.num_envs)
            if task.watched:
                self._seen = _seen_steps(task, self.num_envs)
            self._task = task

    def begin(self, source: MonitoredEnvs, *, resumed: bool = False) -> None:
        """Clear the history; episodes have just begun in slot 0, or continue from states that were saved: `resumed`."""
        self.resumed = resumed
        with self._lock:
            self.now = self._expected = self._newest_keyframe = 0
            self._episodes[:] = source.buffer["episode"][0]
            self._first_returns = source.buffer["episode_return"][0].copy()
            self._first_lengths = source.buffer["episode_length"][0].copy()
            if len(self._prints):
                self._prints[0] = fingerprints(source.buffer["observation"][:1, :: self._task.players])
            self._keyframes.clear()
            if self._boards is not None:
                self._boards.forget()
            self._seen.forget()
            self._noted.clear()
        rows = self.num_envs * self._task.players
        if self._stride and source.save(0):
            self._keep_states(source.buffer["state"][0], np.zeros((rows, len(self._task.reward_terms)), "f4"))

    def expect(self, steps: int) -> bool:
        """Note that `steps` more steps will be appended; return whether the states after them should be read."""
        self._expected += steps
        due = self._stride > 0 and self._expected - self._newest_keyframe >= self._stride
        if due:
            self._newest_keyframe = self._expected
        return due

    def extend(self, results: StepResults, terms: NDArray[np.float32]) -> None:
        """Append the steps that follow the newest one, which were expected.

        Args:
            terms: The sums of the reward terms in the running episodes, `(rows, terms)`.
        """
        count = results.span.steps
        at = self._places(self.now, self.now + count)
        with self._lock:
            self._actions[at] = results.actions
            self._decided[at] = results.decided
            self._values[at] = UNKNOWN if results.values is None else results.values
            self._rewards[at] = results.rewards
            self._ends[at] = results.ends
            if len(self._prints):
                self._prints[np.arange(self.now + 1, self.now + 1 + count) % len(self._prints)] = results.fingerprints
            self._episodes[:] = results.episodes
            self.now += count
        if results.states is not None:
            self._keep_states(results.states, terms)

    def _keep_states(self, states: Array, terms: NDArray[np.float32]) -> None:
        keyframe = Keyframe(self.now, states.copy(), terms.copy())
        with self._lock:
            self._keyframes = [*self._keyframes, keyframe][-self._most_keyframes :]

    def keep_boards(self, buffer: Buffer, ahead: int, drawn: NDArray[np.bool_]) -> None:
        """Keep the boards that environments have drawn, and the last boards of episodes that ended.

        Args:
            buffer: The arrays with the boards.
            ahead: How many steps were made that are not expected yet.
            drawn: Which environments have drawn, `(num_envs,)`.
        """
        if self._boards is not None:
            self._boards.keep(buffer, self._expected + ahead, drawn)
            if LAST_DRAWN in buffer:
                with self._lock:
                    self._boards.keep_last(buffer, self._expected + ahead)

    def keep_seen(self, ahead: int, observations: Array, infos: Array) -> None:
        """Keep what was observed in the newest steps, `ahead` of which are not expected yet, see `SeenSteps.keep`."""
        with self._lock:
            self._seen.keep(self._expected + ahead, observations, infos)

    def keep_entropy(self, row: int, ahead: int, entropy: float) -> None:
        """Keep the entropy of a row's policy for the step that is `ahead` of the newest one that is expected."""
        step = self._expected + ahead
        with self._lock:
            noted = self._noted.setdefault(row, np.zeros(MAX_STEPS_BACK + 1, NOTED))
            noted[step % len(noted)] = step, entropy

    # -- other threads ------------------------------------------------------------------------------------------------

    def line(self, env: int, seat: int = 0) -> RecentSteps:
        """Return the last steps of an environment, as one seat saw them."""
        with self._lock:
            at, row = self._places(self.now - self.back, self.now), env * self._task.players + seat
            first = self._actions[at, row].reshape(len(at), prod(self._actions.shape[2:]))[:, 0].astype(np.float32)
            first[~self._decided[at, row]] = UNKNOWN
            values, entropies = self._values[at, row], self._entropies(row)
            return RecentSteps(self.now, self._ends[at, env], self._rewards[at, row], values, entropies, first)

    def _entropies(self, row: int) -> NDArray[np.float32]:
        """Return the entropies at the last steps, NaN where none is known or the row did not decide."""
        steps = np.arange(self.now - self.back, self.now) + 1
        if row not in self._noted:
            return np.full(len(steps), UNKNOWN, "f4")
        noted = self._noted[row][steps % len(self._noted[row])]
        known = (noted["step"] == steps) & self._decided[steps % self._depth, row]
        return np.where(known, noted["entropy"], np.float32(UNKNOWN))

    def actions(self, rows: slice) -> Array:
        """Return the actions of some rows at the last steps, `(back, rows, *action_shape)`."""
        with self._lock:
            return self._actions[self._places(self.now - self.back, self.now), rows]

    def decision(self, env: int, step: int, seat: int = 0) -> PastDecision | None:
        """Return the decision of one seat that led to state `step`; None if it is not kept."""
        with self._lock:
            if not self._keeps(step):
                return None
            at, row = step % self._depth, env * self._task.players + seat
            return PastDecision(
                action=self._actions[at, row].copy(),
                decided=bool(self._decided[at, row]),
                value=float(self._values[at, row]),
                reward=float(self._rewards[at, row]),
                end=int(self._ends[at, env]),
            )

    def boards(self, env: int, step: int, *, begun: bool = False) -> dict[str, Array] | None:
        """Return the boards of a state as they were drawn; None if they were not drawn.

        Of a step that ended an episode these are the last ones, or with `begun` the first ones of the next episode.
        """
        with self._lock:
            if self._boards is None:
                return None
            ended = self._keeps(step) and self._ends[step % self._depth, env]
            last = self._task.begins_at_once and not begun and ended
            return self._boards.last(env, step) if last else self._boards.at(env, step)

    def seen(self, env: int, step: int, *, begun: bool = False) -> tuple[Array, Array] | None:
        """Return the observation and the numbers of the info of a state; None if they are not kept.

        The observation of a step that ended an episode and began the next one belongs to the latter, `begun`.
        """
        with self._lock:
            ended = self._keeps(step) and self._ends[step % self._depth, env]
            return None if self._task.begins_at_once and ended and not begun else self._seen.at(env, step)

    def episode_at(self, env: int, step: int, seat: int = 0, *, begun: bool = False) -> EpisodeSoFar:
        """Return the episode of a step up to that step, without return and length if its first steps are not kept.

        Args:
            env: The environment, from 0.
            step: A step that is kept.
            seat: The seat, from 0.
            begun: If the step ended an episode: the next one, at its beginning.
        """
        players, row = self._task.players, env * self._task.players + seat
        with self._lock:
            oldest = self._oldest
            ends = self._ends[self._places(oldest, self.now), env] > 0
            number = int(self._episodes[env]) - int(np.count_nonzero(ends[max(0, step - oldest - (not begun)) :]))
            if begun:
                return EpisodeSoFar(number, 0.0, 0)
            before = np.flatnonzero(ends[: max(0, step - oldest - 1)])
            if not len(before) and oldest:
                return EpisodeSoFar(number, UNKNOWN, -1)
            first = oldest + 1 + int(before[-1]) if len(before) else 0
            at = self._places(first, step)
            gained = float(self._rewards[at, row].sum(dtype=np.float64))
            decided = self._decided[at, env * players : (env + 1) * players].any(axis=1)
            length = int(np.count_nonzero(decided))
            if first == 0:
                gained, length = gained + float(self._first_returns[row]), length + int(self._first_lengths[env])
            return EpisodeSoFar(number, gained, length)

    def rerun_span(self, env: int, step: int) -> RerunSpan | None:
        """Return the steps from which state `step` can be rebuilt; None if they are not all kept.

        Only the last step may end an episode, unless the task saves states: then episodes need not begin from the seed.
        """
        with self._lock:
            oldest = self._oldest
            if not oldest <= step <= self.now:
                return None
            ends = self._ends[self._places(oldest, self.now), env]
            before = oldest + 1 + np.flatnonzero(ends[: max(0, step - oldest - 1)])
            begins = int(before[-1]) if len(before) else (0 if oldest == 0 else -1)
            later = step or int(self._task.saves)  # the keyframe is earlier, since a keyframe has no reward
            possible = (keyframe for keyframe in reversed(self._keyframes) if oldest <= keyframe.step < later)
            keyframe = next((keyframe for keyframe in possible if keyframe.states[env].any()), None)
            if keyframe is not None and (keyframe.step >= begins or self._task.saves):
                first = keyframe.step
            elif begins >= 0:
                first, keyframe = begins, None
            else:
                return None
            episode = int(self._episodes[env]) - int(np.count_nonzero(ends[first - oldest :]))
            return self._span(env, episode, first, step, keyframe)

    def episode_span(self, env: int, episode: int) -> RerunSpan | None:
        """Return the steps of an episode that has ended, from its first state.

        None if they are not all kept, or if the history began within the episode.
        """
        with self._lock:
            oldest = self._oldest
            ends = oldest + 1 + np.flatnonzero(self._ends[self._places(oldest, self.now), env])
            index = len(ends) - int(self._episodes[env]) + episode
            whole = index > 0 or (oldest == 0 and not self._first_lengths[env] and not self.resumed)
            if not 0 <= index < len(ends) or not whole:
                return None
            first = int(ends[index - 1]) if index else 0
            return self._span(env, episode, first, int(ends[index]), None)

    def passages(self, env: int, step: int) -> list[RerunSpan]:
        """Return the steps of the episode that goes on in state `step`, to its end or the newest one; best first.

        From the beginning of the episode, if it is kept; and from the oldest state of it that is.
        """
        with self._lock:
            oldest = self._oldest
            if not oldest <= step <= self.now:
                return []
            ends = oldest + 1 + np.flatnonzero(self._ends[self._places(oldest, self.now), env])
            before, after = ends[ends <= step], ends[ends > step]
            begins, last = int(before[-1]) if len(before) else 0, int(after[0]) if len(after) else self.now
            number, found = int(self._episodes[env]) - len(after), []
            if len(before) or (oldest == 0 and not self._first_lengths[env] and not self.resumed):
                found.append(self._span(env, number, begins, last, None))
            for keyframe in self._keyframes:
                if max(begins, oldest) <= keyframe.step <= step and keyframe.states[env].any():
                    found.append(self._span(env, number, keyframe.step, last, keyframe))
                    break
            return found

    def _span(self, env: int, episode: int, first: int, step: int, keyframe: Keyframe | None) -> RerunSpan:
        """Return the steps `first + 1 .. step` of an environment, which are kept, and the keyframe at `first`."""
        players, count = self._task.players, len(self._task.reward_terms)
        seats = slice(env * players, (env + 1) * players)
        at = self._places(first, step)
        prints = np.arange(first, step + 1) % max(1, len(self._prints))
        return RerunSpan(
            env=env,
            episode=episode,
            first=first,
            state=None if keyframe is None else keyframe.states[env],
            terms=np.zeros((players, count), "f4") if keyframe is None else keyframe.terms[seats, :count],
            actions=self._actions[at, seats],
            rewards=self._rewards[at, seats],
            ends=self._ends[at, env],
            prints=self._prints[prints, env] if len(self._prints) else np.zeros(0, "u8"),
            values=self._values[at, env * players],
        )


def _seen_steps(task: Task, num_envs: int) -> SeenSteps:
    return SeenSteps(task.observation.shape[0] if task.watched else 0, len(info_scalars(task)), num_envs)


def step_bytes(task: Task, num_envs: int) -> int:
    """Return the bytes that are kept per step of `num_envs` environments: actions, values, rewards and ends."""
    action = field_named(task, "action")
    return num_envs * (task.players * (_kept(action).itemsize * int(np.prod(action.shape)) + 9) + 9)


def _kept(action: Field) -> np.dtype[Any]:
    kind = np.dtype(action.dtype)
    return np.dtype("i4") if kind.kind in "iu" else kind
