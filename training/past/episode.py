"""A recorded episode: its task, its actions, and fingerprints of their results.

A fingerprint is an 8-byte BLAKE2b hash of a field's bytes, of all seats. That of the trajectory is a hash of all of
these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from ...envs import Task
from ...envs.fields import DECIDES, Array
from ...envs.unknown import UNKNOWN
from ..telemetry.moments import MomentSource, moment_dtype
from .rerun import RerunEnv, RerunMismatch

CHECKED = ("observation", "action_mask", "reward", "reward_terms", "terminated", "truncated", "outcome", "frames")
CHECKED_FIRST, CHECKED_LAST = CHECKED[:2], (*CHECKED, "final_observation")
"""The fields of which a replay is compared: after a step, in the first state, and after the last step."""
DIGEST_BYTES = 8


@dataclass(frozen=True)
class RecordedStep:
    """The result of one step. For the first state, `action` is None.

    Attributes:
        action: `(players, *action_shape)`.
        reward: The first seat's.
        prints: Fingerprints by field.
        boards: The drawn boards by field, if they were kept.
        value: The first seat's value estimate of the state before the step, if it is known.
    """

    action: Array | None
    reward: float
    prints: Mapping[str, str]
    boards: Mapping[str, Array] = field(default_factory=dict)
    value: float = UNKNOWN


@dataclass(frozen=True)
class Episode:
    """A recorded episode.

    Attributes:
        task: What was played.
        seed: The run's seed.
        env: Which environment, from 0.
        number: Which of its episodes, from 0.
        run: The run it was recorded in.
        replays: Whether a replay gave the same results when it was recorded.
        steps: The first state and all steps.
        state: The first state's bytes, if the seed does not lead to it.
    """

    task: Task
    seed: int
    env: int
    number: int
    run: str
    replays: bool
    steps: tuple[RecordedStep, ...]
    state: Array | None = None

    @property
    def length(self) -> int:
        """Number of steps."""
        return len(self.steps) - 1

    @property
    def valued(self) -> bool:
        """Whether value estimates are known."""
        return any(math.isfinite(step.value) for step in self.steps)

    @property
    def trajectory(self) -> str:
        """The fingerprint of the whole episode."""
        digest = blake2b(digest_size=DIGEST_BYTES)
        for step in self.steps:
            digest.update(b"" if step.action is None else np.asarray(step.action, "<f8").tobytes())
            digest.update("".join(step.prints[name] for name in sorted(step.prints)).encode())
        return digest.hexdigest()


def fingerprints_of(task: Task, names: Sequence[str], row: Callable[[str], Array]) -> dict[str, str]:
    """Return the fingerprints of the named fields that the task has; `row` returns a field of the environment."""
    known = {item.name for item in task.fields}
    return {
        name: blake2b(np.ascontiguousarray(row(name)).tobytes(), digest_size=DIGEST_BYTES).hexdigest()
        for name in names
        if name in known
    }


def play(episode: Episode) -> Iterator[RerunEnv]:
    """Replay an episode; yield the environment in its first state and after every step."""
    with closing(RerunEnv(episode.task, episode.seed, episode.env)) as rerun:
        rerun.draw(wanted=True)
        if episode.state is None:
            rerun.begin(episode.number)
        else:
            rerun.restore(episode.state)
        yield rerun
        for step in episode.steps[1:]:
            assert step.action is not None
            rerun.step(step.action)
            yield rerun


def check(episode: Episode) -> None:
    """Replay an episode and compare every field of every step, its reward and its boards with the recorded ones.

    Raises:
        RerunMismatch: The first step and field that differ.
        PacError: An action is refused, or the environment failed.
    """
    for index, (rerun, step) in enumerate(zip(play(episode), episode.steps, strict=True)):
        names = CHECKED_FIRST if index == 0 else CHECKED_LAST if index == episode.length else CHECKED
        found = fingerprints_of(episode.task, names, rerun.row)
        for name in names:
            _compare(index, name, found.get(name), step.prints.get(name))
        if index:
            _compare(index, "reward", float(rerun.row("reward")[0]), step.reward)
        for name, board in step.boards.items():
            if not np.array_equal(rerun.row(name)[0], board):
                raise RerunMismatch(index, name, f"step {index}: {name} differs from the recorded one")


def _compare(index: int, name: str, found: float | str | None, recorded: float | str | None) -> None:
    if found != recorded and not (found != found and recorded != recorded):  # noqa: PLR0124 - NaN
        raise RerunMismatch(index, name, f"step {index}: {name} is {found}, {recorded} was recorded")


def episode_moments(episode: Episode, seat: int = 0) -> Array:
    """Return a seat's moments of an episode, `(length + 1,)` records: rerun, or with the boards that were kept.

    Of an episode that does not replay, only the first seat's rewards are known.
    """
    found = np.zeros(len(episode.steps), moment_dtype(episode.task))
    terms = np.zeros((episode.task.players, len(episode.task.reward_terms)), "f4")
    machines = play(episode) if episode.replays else None
    decides = True  # the only seat always does; of several, this is known while they are replayed
    for index, step in enumerate(episode.steps):
        moment, decided = found[index : index + 1].reshape(()), decides
        if machines is not None:
            rerun = next(machines)
            rerun.fill(moment, seat)
            decides = bool(rerun.row("active")[seat] == DECIDES)
            terms = terms + rerun.reward_terms()
            moment["terms"], moment["source"] = terms[seat], MomentSource.REBUILT
        else:
            moment["source"] = MomentSource.STORED if step.boards else MomentSource.MISSING
            moment["note"] = b"this environment is not deterministic"
            moment["reward"] = UNKNOWN if seat else step.reward
            for name, board in step.boards.items():
                moment[f"board:{name}"] = board
        moment["env"], moment["step"], moment["now"] = 0, index, episode.length
        # As in a training: the value of the decision that follows, or else of the one before.
        moment["value"] = UNKNOWN if seat else episode.steps[min(index + 1, episode.length)].value
        moment["seat"] = seat
        if step.action is not None:
            moment["acted"], moment["action"] = decided, step.action[seat]
        if index < episode.length:
            following = episode.steps[index + 1].action
            assert following is not None
            moment["decided"], moment["next_action"] = decides, following[seat]
    return found
