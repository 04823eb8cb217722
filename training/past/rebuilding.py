"""Rebuilds an episode that has ended, or an earlier state, by replaying the actions that are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

from ...envs import Task
from ...envs.fields import Array
from ...envs.unknown import UNKNOWN
from ..telemetry.moments import field_named
from .episode import CHECKED, CHECKED_FIRST, CHECKED_LAST, Episode, RecordedStep, fingerprints_of
from .history import RerunSpan
from .rerun import RerunEnv, RerunImpossible, go_to_start, rerun_step

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
