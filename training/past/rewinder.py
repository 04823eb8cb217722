"""Computes earlier states of an environment in a separate thread: from kept boards, or by a replay."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from ...envs import Task
from ...envs.entries import Place, entry_at
from ...envs.fields import Array
from ...envs.files import create_next
from ...envs.task import load, seed_from
from ...envs.unknown import UNKNOWN
from ..own_threads import OwnThread
from ..ranks import Ranks, SingleRank
from ..telemetry.declared import encode_clipped
from ..telemetry.moments import NOTE_BYTES, MomentSource, drawn_fields, moment_dtype
from .history import History, RerunSpan
from .rebuilding import TOO_OLD, rerun_state
from .rerun import RerunEnv, RerunImpossible, RerunMismatch, go_to_start, rerun_step

MAX_SECONDS = 10.0  # s for one replay
PROGRESS_SECONDS = 0.2  # s between two reports of progress
WINDOW = 32
"""Moments up to the requested one that are kept, for the next steps back."""
BARS = "bars"
"""The board that shows the numbers that a script's environment observes."""
MAX_CACHE_BYTES = 64 * 2**20  # bytes


class Rewinder:
    """Computes earlier states of environments. A new request replaces one that waits.

    Args:
        seed: The run's seed.
        history: Returns the current history.
        publish: Called with each answer, a record of `moment_dtype`.
        report: Called with a sentence about a request that failed, once per sentence.
        ranks: The processes of the training, each with its own environments.
    """

    def __init__(
        self,
        task: Task,
        seed: int,
        history: Callable[[], History],
        publish: Callable[[Array], None],
        report: Callable[[str], None],
        *,
        ranks: Ranks | None = None,
    ) -> None:
        self._newest_task = self._task = task  # requests that are computed keep to one task, and so to one dtype
        self._seed, self._ranks = seed, ranks or SingleRank()
        self._current, self._publish, self._report = history, publish, report
        self._reported: set[str] = set()
        self._history: History | None = None  # with task and dtype that of the thread that computes, as `_known`
        self._dtype = moment_dtype(task)
        self._known: OrderedDict[tuple[int, int, int, bool], Array] = OrderedDict()
        self._refusal = "environments that share memory cannot be replayed" if task.shared else ""
        self._wanted: tuple[int, int, int, bool] | None = None
        self._traced: tuple[History, int, int] | None = None  # the last environment and step that `trace` requested
        self._requested = threading.Condition()
        self._thread: threading.Thread | None = None

    def update_task(self, task: Task) -> None:
        """Compute moments of a task that has more scalars, from the next request on; any thread may call this."""
        self._newest_task = task

    def request(self, env: int, back: int, seat: int = 0, *, begun: bool = False) -> None:
        """Publish a moment soon; the parameters are those of `moment`."""
        with self._requested:
            self._wanted = env, back, seat, begun
            self._requested.notify()
            if self._thread is None:
                self._thread = OwnThread(self._run, "rewinder")
                self._thread.start()

    def trace(self, env: int) -> Mapping[str, Array]:
        """Return the boards of the newest step of a paused environment with its trace, see `Task.trace`.

        The first call requests them. Returns nothing until they are computed, if the task has no trace, or if the
        episode has ended.
        """
        history, step = self._current(), self._current().now
        if not (self._newest_task.trace and step):
            return {}
        # Another thread fills `_known`, and replaces it before `_history`: so it never has moments of another history.
        moment = self._known.get((env, 0, step, False)) if history is self._history else None
        if moment is None:
            if self._traced != (history, env, step):
                self._traced = history, env, step
                self.request(env, 0)
            return {}
        return (
            {}
            if moment["end"]
            else {item.name: moment[f"board:{item.name}"] for item in drawn_fields(self._newest_task)}
        )

    def state(self, env: int, back: int) -> tuple[str, Array]:
        """Return a name and the state of environment `env` `back` steps ago, as in the buffer.

        After a step that ended an episode, this is the first state of the next one. Runs in the caller's thread.

        Raises:
            RerunImpossible: The steps are no longer kept, or the replay takes too long.
            RerunMismatch: The replay differs from the original steps.
        """
        history = self._current()
        step = max(0, history.now - back)
        span = None if self._refusal else history.rerun_span(env, step)
        if span is None:
            raise RerunImpossible(self._refusal or TOO_OLD)
        number = self._ranks.first_env(history.num_envs) + env + 1
        return f"env{number}-step{step}", rerun_state(self._newest_task, self._own_seed(history), span)

    def _own_seed(self, history: History) -> int:
        return seed_from(self._seed, self._ranks.first_env(history.num_envs))

    def _run(self) -> None:
        while True:
            with self._requested:
                while self._wanted is None:
                    self._requested.wait()
                wanted, self._wanted = self._wanted, None
            env, back, seat, begun = wanted
            if env >= self._current().num_envs:  # there may have been a restart with another N
                continue
            try:
                self._publish(self.moment(env, back, seat, begun=begun))
            except Exception as error:  # the thread continues with the next request
                reason = f"{type(error).__name__}: {error}"
                text = f"an earlier step of environment {env + 1} cannot be shown: {reason}"
                if text not in self._reported:
                    self._reported.add(text)
                    self._report(text)
            with self._requested:
                if self._newest_task is not self._task and self._wanted is None:  # the new segment lacks this answer
                    self._wanted = wanted

    def moment(self, env: int, back: int, seat: int = 0, *, begun: bool = False) -> Array:
        """Return the state of a seat of environment `env` `back` steps ago.

        Args:
            env: The environment, from 0.
            back: Number of steps before the newest one.
            seat: The seat, from 0.
            begun: If the step ended an episode: the next episode's first state instead of the last state.
        """
        history, task = self._current(), self._newest_task
        if history is not self._history or task is not self._task:
            self._known, self._task, self._dtype = OrderedDict(), task, moment_dtype(task)
            self._history = history
        step = max(0, history.now - back)
        before = history.decision(env, step, seat)
        begun = begun and self._task.begins_at_once and before is not None and before.end > 0
        moment = self._known.get((env, seat, step, begun))
        if moment is None:
            moment = self._find(history, env, seat, step, begun=begun)
        moment = moment.copy()
        moment["now"] = history.now
        after = history.decision(env, step + 1, seat)
        if after is not None and after.decided and (begun or not (self._task.begins_at_once and moment["end"])):
            moment["decided"], moment["next_action"], moment["value"] = 1, after.action, after.value
        return moment

    def _find(self, history: History, env: int, seat: int, step: int, *, begun: bool) -> Array:
        """Return a state: rerun, with the boards that were kept, or with the reason why it is missing."""
        reason = self._refusal
        span = None if reason else history.rerun_span(env, step)
        if span is not None:
            try:
                self._rebuild(history, span, seat)
                return self._known[env, seat, step, begun]
            except RerunMismatch as error:
                reason = self._refusal = f"not deterministic: {error}"
            except RerunImpossible as error:
                reason = str(error)
            except Exception as error:
                reason = self._refusal = f"its replay failed: {type(error).__name__}: {error}"
        elif not reason:
            reason = TOO_OLD
        moment = self._blank(history, env, seat, step, begun=begun)
        boards = history.boards(env, step, begun=begun)
        moment["source"] = MomentSource.MISSING if boards is None else MomentSource.STORED
        moment["note"] = encode_clipped(reason, NOTE_BYTES)
        seen = history.seen(env, step, begun=begun)
        if seen is not None:
            moment["full"], moment["reward_terms"], moment["terms"] = 1, UNKNOWN, UNKNOWN
            moment["observation"], moment["info"] = seen
            if boards is None and {item.name for item in drawn_fields(self._task)} == {BARS}:
                boards, moment["source"] = {BARS: seen[0]}, MomentSource.STORED
        if boards is not None:
            for item in drawn_fields(self._task):
                moment[f"board:{item.name}"] = boards[item.name]
        return moment

    def _rebuild(self, history: History, span: RerunSpan, seat: int) -> None:
        """Replay a span, and keep the last moments of a seat."""
        begun = reported = time.monotonic()
        self._publish_progress(history, span, seat, 0.0)
        with closing(RerunEnv(self._task, self._own_seed(history), span.env)) as rerun:
            count = len(span.actions)
            rerun.draw(wanted=not count)
            go_to_start(rerun, span)
            terms = span.terms
            if not count:
                self._keep(history, rerun, seat, span.first, terms)
            for index in range(count):
                rerun.draw(wanted=count - index <= WINDOW)
                rerun_step(rerun, span, index)
                begins = index > 0 and span.ends[index - 1]
                terms = rerun.reward_terms() + (0 if begins else terms)
                if count - index <= WINDOW:
                    self._keep(history, rerun, seat, span.first + index + 1, terms)
                now = time.monotonic()
                if now - begun > MAX_SECONDS:
                    raise RerunImpossible(f"the replay of its {count:,} steps takes more than {MAX_SECONDS:.0f} s")
                if now - reported > PROGRESS_SECONDS:
                    reported = now
                    self._publish_progress(history, span, seat, index / count)
            self._show_first_info(rerun, seat, span.first + count)

    def _show_first_info(self, rerun: RerunEnv, seat: int, step: int) -> None:
        """If the last step ended an episode, begin the next one again: the step left the info of the ended one."""
        moment = self._known.get((rerun.env, seat, step, True))
        if moment is not None:
            rerun.draw(wanted=False)
            rerun.begin(int(moment["episode"]))
            first = np.zeros((), self._dtype)
            rerun.fill(first, seat)
            moment["info"] = first["info"]

    def _keep(self, history: History, rerun: RerunEnv, seat: int, step: int, terms: Array) -> None:
        """Keep a moment; both moments, if a step ended an episode and began the next one."""
        for begun in (False, True):
            moment = self._blank(history, rerun.env, seat, step, begun=begun)
            rerun.fill(moment, seat, begun=begun)
            moment["source"], moment["terms"] = MomentSource.REBUILT, 0 if begun else terms[seat]
            self._known[rerun.env, seat, step, begun] = moment
            if not (self._task.begins_at_once and moment["end"]):
                break
        while len(self._known) > max(2 * WINDOW, MAX_CACHE_BYTES // self._dtype.itemsize):
            self._known.popitem(last=False)

    def _publish_progress(self, history: History, span: RerunSpan, seat: int, progress: float) -> None:
        moment = self._blank(history, span.env, seat, span.first + len(span.actions))
        moment["source"], moment["progress"], moment["now"] = MomentSource.WORKING, progress, history.now
        with suppress(Exception):  # which is no fault of the replay: the answer fails in the same way
            self._publish(moment)

    def _blank(self, history: History, env: int, seat: int, step: int, *, begun: bool = False) -> Array:
        """Return a moment with only the decision that led to it."""
        moment = np.zeros((), self._dtype)
        moment["env"], moment["seat"], moment["step"], moment["value"] = env, seat, step, UNKNOWN
        before = history.decision(env, step, seat)
        ended = self._task.begins_at_once and before is not None and before.end > 0
        moment["begun"] = ended and begun
        episode = history.episode_at(env, step, seat, begun=bool(moment["begun"]))
        moment["episode"], moment["episode_return"], moment["episode_length"] = episode
        if before is not None and not moment["begun"]:
            moment["acted"], moment["action"], moment["reward"] = before.decided, before.action, before.reward
            moment["value"], moment["end"] = before.value, before.end
        return moment


def save_state(task: Task, rewinder: Rewinder, folder: Place, env: int, back: int) -> list[Path]:
    """Write the files of the state of environment `env` `back` steps ago into new files; return them.

    Raises:
        RerunImpossible: The steps are no longer kept, or the replay takes too long.
        RerunMismatch: The replay differs from the original steps.
        OSError: A file cannot be written.
    """
    name, state = rewinder.state(env, back)
    files = load(task.state_files)(task, state)
    into = entry_at(folder)
    into.mkdir()
    return [create_next(into, name, suffix, data) for suffix, data in files.items()]
