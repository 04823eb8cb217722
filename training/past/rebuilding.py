"""Rebuilds an episode that has ended, or an earlier state, by replaying the actions that are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from ...envs import PacError, Task
from ...envs.fields import Array
from ...envs.unknown import UNKNOWN
from ..telemetry.moments import field_named
from .episode import CHECKED, CHECKED_FIRST, CHECKED_LAST, Episode, RecordedStep, fingerprints_of
from .history import History, RerunSpan
from .rerun import RerunEnv, RerunImpossible, RerunMismatch, go_to_start, rerun_step

TOO_OLD = "its episode began before the oldest step that is kept"
MAX_SECONDS = 8.0  # s for one replay; viewers wait 10 s for an answer


def rebuilt(task: Task, seed: int, env: int, span: RerunSpan, run: str) -> Episode:
    """Replay an episode, and return it as if it had been recorded.

    Args:
        task: What was played.
        seed: The run's seed.
        env: The environment among those of all processes, from 0.
        span: The steps of the episode, see `History.episode_span`.

    Raises:
        RerunMismatch: Rewards, ends or observations differ from the original ones.
        RerunImpossible: It takes too long.
        PacError: The environment failed.
    """
    kind = field_named(task, "action").dtype
    with closing(RerunEnv(task, seed, env)) as rerun:
        go_to_start(rerun, span)
        steps = [RecordedStep(None, 0.0, fingerprints_of(task, CHECKED_FIRST, rerun.row))]
        for index in _rerun(rerun, span):
            names = CHECKED_LAST if index == len(span.actions) - 1 else CHECKED
            action, reward = span.actions[index].astype(kind), float(rerun.row("reward")[0])
            value = float(span.values[index]) if len(span.values) else UNKNOWN
            steps.append(RecordedStep(action, reward, fingerprints_of(task, names, rerun.row), value=value))
    return Episode(task, seed, env, span.episode, run, replays=True, steps=tuple(steps))


def passage(
    task: Task, seed: int, history: History, env: int, step: int, *, number: int, run: str
) -> tuple[Episode, int]:
    """Return the steps around state `step` of a running environment, and the number of that state among them.

    They are those of its episode so far, from its first state or from the oldest one that is kept.

    Args:
        task: What is played.
        seed: The run's seed.
        history: The last steps.
        env: The environment among those of this process, from 0.
        step: The number of the state; of a step that ended an episode, that in which the next one begins.
        number: The environment among those of all processes.

    Raises:
        RerunImpossible: The steps are no longer kept, or the replay takes too long.
        RerunMismatch: The replay differs from the original steps.
        PacError: The environment failed.
    """
    if task.shared:
        raise RerunImpossible("environments that share memory cannot be replayed")
    differs: PacError = RerunImpossible(TOO_OLD)
    for span in history.passages(env, step):
        try:
            found = rebuilt(task, seed, number, span, run)
        except RerunMismatch as error:
            differs = error
        else:
            return replace(found, state=span.state), step - span.first
    raise differs


def rerun_state(task: Task, seed: int, span: RerunSpan) -> Array:
    """Return the state at the end of a span, as in the buffer; parameters and errors as for `rebuilt`."""
    with closing(RerunEnv(task, seed, span.env)) as rerun:
        go_to_start(rerun, span)
        for _ in _rerun(rerun, span):
            pass
        state: Array = rerun.row("state")[0].copy()
        return state


def _rerun(rerun: RerunEnv, span: RerunSpan) -> Iterator[int]:
    """Take all steps of a span; yield the index of each step after it was taken."""
    end = time.monotonic() + MAX_SECONDS
    for index in range(len(span.actions)):
        rerun_step(rerun, span, index)
        yield index
        if time.monotonic() > end:
            raise RerunImpossible(f"{index + 1:,} of its {len(span.actions):,} steps took {MAX_SECONDS:g} s")
