"""Records episodes: the next one of an environment on request, and those that the user has chosen."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...envs import PacError, Task
from ...envs.entries import FolderEntry, Place, entry_at
from ...envs.fields import Array
from ...envs.trust import accept
from ...envs.unknown import UNKNOWN
from ..episode_choice import EVERY, EpisodeChoice
from ..ranks import Ranks, SingleRank
from ..telemetry.episodes import ended_episodes
from ..telemetry.events import EventLog
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.records import RECORDING, WAITING, Level
from ..telemetry.step_results import StepResults
from .episode import CHECKED, CHECKED_FIRST, CHECKED_LAST, Episode, RecordedStep, check, fingerprints_of
from .episode_file import SUFFIX, read, write
from .filming import film
from .history import History, RerunSpan
from .rebuilding import rebuilt
from .rerun import RerunImpossible, RerunMismatch

MAX_BOARD_BYTES = 64 * 2**20  # bytes
MAX_WAITING = 8
"""Chosen episodes that wait to be written; more of them replace the oldest ones."""


@dataclass
class Recording:
    """An episode that is recorded, or will be.

    Attributes:
        number: The number of the episode in its environment; -1 before it begins.
        steps: The first state, and the steps so far.
        state: The first state's bytes, of an environment that saves it.
    """

    number: int = -1
    steps: list[RecordedStep] = field(default_factory=list)
    state: Array | None = None


class EpisodeRecorder:
    """Copies steps in the training thread; a separate thread checks and writes a whole episode.

    Any thread may call `want`.

    Args:
        task: What is played.
        seed: The run's seed.
        run: The run's name.
        folder: Where episodes go.
        events: Gets a message about each episode.
        ranks: The processes of the training, each with its own environments.
        choice: Which episodes are recorded without a request.
        films: Whether to make a film of each.
    """

    def __init__(
        self,
        task: Task,
        seed: int,
        run: str,
        folder: Place,
        events: EventLog,
        *,
        ranks: Ranks | None = None,
        choice: EpisodeChoice | None = None,
        films: bool = False,
    ) -> None:
        self._task, self._seed, self._run, self._folder = task, seed, run, entry_at(folder)
        self._events = events
        self._ranks = ranks or SingleRank()
        self._recordings: dict[int, Recording] = {}
        self._choice = choice
        self._films = films
        self._ended = 0
        self._chosen: deque[tuple[int, RerunSpan, FolderEntry]] = deque(maxlen=MAX_WAITING)
        self._writing = False  # whether a thread writes them; that and the episodes are changed with the lock
        self._choosing = threading.Lock()
        self._failures: set[str] = set()
        if choice is not None and choice.kind != EVERY:
            choice.record = self._recorded_return(choice.kind)

    def want(self, env: int) -> bool:
        """Record the next episode of an environment, or cancel its recording; return whether it will be recorded."""
        if self._recordings.pop(env, None) is not None:
            return False
        self._recordings[env] = Recording()
        return True

    def reset(self) -> None:
        """Discard incomplete episodes, since the environments are restarted."""
        self._recordings.clear()

    def __bool__(self) -> bool:
        """Whether an episode is being recorded or will be."""
        return bool(self._recordings)

    @property
    def envs(self) -> list[int]:
        return list(self._recordings)

    def states(self, num_envs: int) -> NDArray[np.uint8]:
        """Return for each environment whether it is recorded: 0, `WAITING`, `RECORDING`."""
        states = np.zeros(num_envs, np.uint8)
        for env, recording in list(self._recordings.items()):
            states[env] = RECORDING if recording.steps else WAITING
        return states

    def extend(self, source: MonitoredEnvs, results: StepResults, history: History) -> None:
        """Copy the steps of the environments that are recorded; `history` already contains them."""
        for env, fields in results.recorded.items():
            recording = self._recordings.get(env)
            if recording is None:  # it was cancelled after the steps were requested
                continue
            ends = results.ends[:, env].tolist()
            for index, ended in enumerate(ends):
                left = len(ends) - 1 - index
                take = partial(self._take, fields, index)
                boards = partial(history.boards, env, history.now - left)
                if recording.steps:
                    step = take(boards() or {}, CHECKED_LAST if ended else CHECKED)
                    decision = history.decision(env, history.now - left)
                    recording.steps.append(replace(step, value=UNKNOWN if decision is None else decision.value))
                    if ended:
                        self._recordings.pop(env, None)
                        number = self._number(env, len(results.episodes))
                        threading.Thread(target=self._finish, args=(env, number, recording), name="recorder").start()
                        break
                elif ended:
                    recording.number = int(results.episodes[env]) - sum(map(bool, ends[index + 1 :]))
                    first = take(boards(begun=True) or {}, CHECKED_FIRST)
                    recording.steps.append(replace(first, action=None, reward=0.0))
                    if self._task.saves and not left and source.save(source.buffer.order.newest):
                        recording.state = source.buffer["state"][0, env].copy()

    def _take(
        self, fields: Mapping[str, Array], index: int, boards: Mapping[str, Array], names: Sequence[str]
    ) -> RecordedStep:
        return RecordedStep(
            action=fields["action"][index].copy(),
            reward=float(fields["reward"][index, 0]),
            prints=fingerprints_of(self._task, names, lambda name: fields[name][index]),
            boards=boards,
        )

    def choose(self, results: StepResults, history: History) -> None:
        """Record chosen episodes among those that have just ended; `history` already contains them."""
        choice, before = self._choice, self._ended
        self._ended += len(results.ended_envs)
        if choice is None or not len(results.ended_envs):
            return
        numbers = ended_episodes(results)
        for index in choice.chosen(results.returns[:, 0], before):
            env = int(results.ended_envs[index])
            span = history.episode_span(env, int(numbers[index]))
            if span is None:
                long = "it is longer than the history of the session"
                self._fail(f"{long}, or began before the run was resumed" if history.resumed else long)
                continue
            number = self._number(env, len(results.episodes))
            path = self._path(number, span.episode) if choice.kind == EVERY else self._folder / f"{choice.kind}{SUFFIX}"
            with self._choosing:
                self._chosen.append((number, span, path))
                if not self._writing:
                    threading.Thread(target=self._write_chosen, name="recorder").start()
                    self._writing = True

    def _write_chosen(self) -> None:
        while True:
            with self._choosing:
                if not self._chosen:
                    # Whether the thread is alive would not tell: an episode could be added after this look, before it
                    # has ended. With the lock, it is either seen here, or starts another thread.
                    self._writing = False
                    return
                number, span, path = self._chosen.popleft()
            try:
                self._write(path, rebuilt(self._task, self._seed, number, span, self._run))
            except Exception as error:
                self._fail(str(error))
            else:
                self._film(path)

    def _fail(self, reason: str) -> None:
        """Report, once per reason, why a chosen episode is not recorded."""
        if reason not in self._failures:
            self._failures.add(reason)
            self._events.add(Level.WARNING, f"an episode is not recorded: {reason}")

    def _recorded_return(self, kind: str) -> float:
        """Return the return of the best or worst episode that the run has recorded; NaN if there is none."""
        path = self._folder / f"{kind}{SUFFIX}"
        try:
            return math.fsum(step.reward for step in read(path, accept).steps) if path.exists else math.nan
        except PacError:
            return math.nan

    def keep(self, env: int, episode: int, length: int, history: History) -> Path:
        """Write an episode that has ended to a file, or find the file that it was recorded in; return the file.

        Args:
            env: The environment among those of this process, from 0.
            episode: Its number, from 0.
            length: Its length in steps.
            history: The last steps.

        Raises:
            RerunImpossible: Its steps are no longer kept and it was not recorded, or its replay takes too long.
            PacError: It cannot be rerun.
            OSError: It cannot be written.
        """
        number = self._number(env, history.num_envs)
        path, span = self._path(number, episode), history.episode_span(env, episode)
        if span is not None and len(span.actions) == length:
            self._write(path, rebuilt(self._task, self._seed, number, span, self._run))
        elif not path.exists or read(path, accept).length != length:
            raise RerunImpossible("its steps are no longer kept, and it was not recorded")
        return path.path

    def _number(self, env: int, num_envs: int) -> int:
        """Return the number of an environment among those of all processes, each with `num_envs`."""
        return self._ranks.first_env(num_envs) + env

    def _path(self, number: int, episode: int) -> FolderEntry:
        return self._folder / f"env{number + 1}-episode{episode + 1}{SUFFIX}"

    def _write(self, path: FolderEntry, episode: Episode) -> None:
        self._folder.mkdir()
        write(path, episode)

    def _finish(self, env: int, number: int, recording: Recording) -> None:
        """Replay the episode and write it, with boards only if the replay differs.

        Args:
            env: The environment among those of this process, from 0.
            number: Its number among those of all processes, which decides its seeds.
            recording: The episode.
        """
        steps = tuple(recording.steps)
        bare = tuple(replace(step, boards={}) for step in steps)
        episode = Episode(self._task, self._seed, number, recording.number, self._run, replays=True, steps=bare)
        result = "replays byte for byte"
        try:
            episode = _checked(episode, recording.state)
        except Exception as error:
            size = sum(board.nbytes for step in steps for board in step.boards.values())
            episode = replace(episode, replays=False, steps=steps if size <= MAX_BOARD_BYTES else bare)
            result = f"does not replay: {error}"
        path = self._path(number, recording.number)
        try:
            self._write(path, episode)
        except OSError as error:
            self._events.add(Level.ERROR, f"the episode was not recorded: cannot write {path}: {error.strerror}", env)
        else:
            # The path comes first because lists of events show only the beginning of a line.
            text = f"recorded {path}: {episode.length:,} steps of environment {number + 1}; it {result}"
            self._events.add(Level.GOOD if episode.replays else Level.WARNING, text, env)
            self._film(path)

    def _film(self, path: FolderEntry) -> None:
        if self._films and (failure := film(path.path)):
            self._events.add(Level.WARNING, f"no film was made of {path}: {failure}")


def _checked(episode: Episode, state: Array | None) -> Episode:
    """Replay an episode from its seed or, if that differs, from its first state; return the one that replays.

    Raises:
        RerunMismatch: Both replays differ.
    """
    try:
        check(episode)
    except RerunMismatch:
        if state is None or not state.any():
            raise
        episode = replace(episode, state=state)
        check(episode)
    return episode
