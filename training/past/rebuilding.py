"""Makes a recorded episode of one that has ended, or an earlier state, by replaying the actions that are kept."""

from __future__ import annotations

import time
from contextlib import closing

from ...envs import Task
from ...envs.fields import Array
from ..telemetry.moments import field_named
from .episode import CHECKED, CHECKED_FIRST, CHECKED_LAST, Episode, RecordedStep, fingerprints_of
from .history import ReplaySpan
from .replay import NotReplayable, ReplayedEnv, go_to_start, replay_step

MAX_SECONDS = 8.0  # s for one replay; viewers wait for an answer for 10 s


def rebuilt(task: Task, seed: int, env: int, span: ReplaySpan, run: str) -> Episode:
    """Replay an episode, and return it as if it had been recorded.

    Args:
        task: What was played.
        seed: The run's seed.
        env: The environment among those of all processes, from 0.
        span: The steps of the episode, see `History.episode_span`.
        run: The name of the run.

    Raises:
        ReplayMismatch: Rewards, ends or observations differ from those that were kept.
        NotReplayable: It takes too long.
        PacError: The environment failed.
    """
    kind = field_named(task, "action").dtype
    end = time.monotonic() + MAX_SECONDS
    with closing(ReplayedEnv(task, seed, env)) as replayed:
        go_to_start(replayed, span)
        steps = [RecordedStep(None, 0.0, fingerprints_of(task, CHECKED_FIRST, replayed.row))]
        for index, action in enumerate(span.actions):
            replay_step(replayed, span, index)
            names = CHECKED_LAST if index == len(span.actions) - 1 else CHECKED
            prints = fingerprints_of(task, names, replayed.row)
            steps.append(RecordedStep(action.astype(kind), float(replayed.row("reward")[0]), prints))
            _check_time(end, index, span)
    return Episode(task, seed, env, span.episode, run, replays=True, steps=tuple(steps))


def replayed_state(task: Task, seed: int, span: ReplaySpan) -> Array:
    """Return the state at the end of a span, as in the buffer; parameters and errors are those of `rebuilt`."""
    end = time.monotonic() + MAX_SECONDS
    with closing(ReplayedEnv(task, seed, span.env)) as replayed:
        go_to_start(replayed, span)
        for index in range(len(span.actions)):
            replay_step(replayed, span, index)
            _check_time(end, index, span)
        state: Array = replayed.row("state")[0].copy()
        return state


def _check_time(end: float, index: int, span: ReplaySpan) -> None:
    if time.monotonic() > end:
        raise NotReplayable(f"{index + 1:,} of its {len(span.actions):,} steps took {MAX_SECONDS:g} s")
