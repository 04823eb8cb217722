"""Rebuilds an episode that has ended, or an earlier state, by replaying the actions that are kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

from ...envs import Task
from ...envs.fields import Array
from ..telemetry.moments import field_named
from .episode import CHECKED, CHECKED_FIRST, CHECKED_LAST, Episode, RecordedStep, fingerprints_of
from .history import ReplaySpan
from .replay import NotReplayable, ReplayedEnv, go_to_start, replay_step

MAX_SECONDS = 8.0  # s for one replay; viewers wait 10 s for an answer


def rebuilt(task: Task, seed: int, env: int, span: ReplaySpan, run: str) -> Episode:
    """Replay an episode, and return it as if it had been recorded.

    Args:
        task: What was played.
        seed: The run's seed.
        env: The environment among those of all processes, from 0.
        span: The steps of the episode, see `History.episode_span`.

    Raises:
        ReplayMismatch: Rewards, ends or observations differ from the original ones.
        NotReplayable: It takes too long.
        PacError: The environment failed.
    """
    kind = field_named(task, "action").dtype
    with closing(ReplayedEnv(task, seed, env)) as replayed:
        go_to_start(replayed, span)
        steps = [RecordedStep(None, 0.0, fingerprints_of(task, CHECKED_FIRST, replayed.row))]
        for index in _replay(replayed, span):
            names = CHECKED_LAST if index == len(span.actions) - 1 else CHECKED
            action, reward = span.actions[index].astype(kind), float(replayed.row("reward")[0])
            steps.append(RecordedStep(action, reward, fingerprints_of(task, names, replayed.row)))
    return Episode(task, seed, env, span.episode, run, replays=True, steps=tuple(steps))


def replayed_state(task: Task, seed: int, span: ReplaySpan) -> Array:
    """Return the state at the end of a span, as in the buffer; parameters and errors as for `rebuilt`."""
    with closing(ReplayedEnv(task, seed, span.env)) as replayed:
        go_to_start(replayed, span)
        for _ in _replay(replayed, span):
            pass
        state: Array = replayed.row("state")[0].copy()
        return state


def _replay(replayed: ReplayedEnv, span: ReplaySpan) -> Iterator[int]:
    """Take all steps of a span; yield the index of each step after it was taken."""
    end = time.monotonic() + MAX_SECONDS
    for index in range(len(span.actions)):
        replay_step(replayed, span, index)
        yield index
        if time.monotonic() > end:
            raise NotReplayable(f"{index + 1:,} of its {len(span.actions):,} steps took {MAX_SECONDS:g} s")
