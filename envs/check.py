"""A conformance test for tasks: it plays a task and checks what trainers and backends rely on."""

from __future__ import annotations

from contextlib import ExitStack, closing
from itertools import pairwise
from typing import cast

import numpy as np

from .actions import random_actions
from .errors import PacError
from .fields import Array
from .slots import SlotOrder
from .task import ASKED, LAST_DRAWN, LOOKED_AT, Environments, Savable, Task, allocate

SLOTS = 3
SAVED_STEPS = 20
"""Number of steps for which a restored state must give the same results."""
UNEVEN = 3
"""Environments that are stepped in two slices of different size."""


class NotConforming(PacError):
    """A task that violates a rule of `Task`; the text says which."""

    title = "Task does not conform"


def check(task: Task, *, steps: int = 200, seed: int = 7) -> None:
    """Play a task with random legal actions and check that it conforms to `Task`.

    Args:
        steps: Number of steps to play.
        seed: Seed of the run and of the actions.

    Raises:
        NotConforming: Field names or ranges are wrong; a mask is empty; the same seed and actions give other bytes, or
            the slicing changes them; an end lacks its final observation; returns do not add up; a restored state
            continues in another way; an episode does not depend on its number alone.
    """
    with ExitStack() as stack:
        whole, again, sliced, counted, named = (
            stack.enter_context(closing(TrialRun(task, bounds, seed)))
            for bounds in ((0, UNEVEN), (0, UNEVEN), (0, 1, UNEVEN), (0, UNEVEN), (0, UNEVEN))
        )
        _check_fields(task, whole.buffers)
        for play in (whole, again, sliced):
            play.begin()
        for _ in range(steps):
            _check_step(whole)
            for other, promise in (
                (again, "the same seed and actions twice"),
                (sliced, "stepping in one or two slices"),
            ):
                other.step(whole.actions)
                _compare(whole, other, promise)
            _check_uniform(whole)
        if task.state is not None:
            _check_state(whole, steps=SAVED_STEPS if task.saves else 1)
        _check_episodes(counted, named)


class TrialRun:
    """Environments of a task in this process, over short rollouts.

    Attributes:
        task: What is played.
        buffers: Its arrays.
        order: Which of their slots were written.
        actions: The last actions.
        returns: Rewards added up, per row.
    """

    def __init__(self, task: Task, bounds: tuple[int, ...], seed: int) -> None:
        self.task = task
        self.buffers = allocate(task, bounds[-1], SLOTS)
        if LAST_DRAWN in self.buffers:
            self.buffers[LAST_DRAWN].fill(ASKED)
        self.order = SlotOrder(SLOTS)
        self._parts: list[tuple[Environments, int]] = [
            (task.make(lo, hi, self.buffers, seed), hi - lo) for lo, hi in pairwise(bounds)
        ]
        self._generator = np.random.default_rng(seed)
        self.actions = np.zeros_like(self.buffers["action"][0])
        self.returns = np.zeros(len(self.actions))

    @property
    def slot(self) -> int:
        """The slot with the current observations."""
        return self.order.newest

    def begin(self) -> None:
        """Begin an episode everywhere."""
        for part, count in self._parts:
            part.reset(np.ones(count, np.bool_), self.slot)

    def choose(self) -> Array:
        """Return a random legal action per row.

        Raises:
            NotConforming: A row has none.
        """
        uniform = self._generator.random((len(self.actions), self.task.num_actions))
        if not self.task.masked:
            return random_actions(self.task, uniform)
        legal = self.field("action_mask").astype(np.bool_)
        components = np.split(legal, np.cumsum(self.task.choices)[:-1], axis=1) if self.task.choices else [legal]
        empty = np.flatnonzero(~np.all([component.any(axis=1) for component in components], axis=0))
        if len(empty):
            raise NotConforming(f"{self.task.name}: row {empty[0]} has no legal action; every mask needs at least one")
        return random_actions(self.task, uniform, legal)

    def step(self, actions: Array) -> None:
        """Step everywhere; copy the last slot to the first where the rollout ends."""
        if self.order.full:
            for item in self.task.fields:
                if item.timed:
                    self.buffers[item.name][0] = self.buffers[item.name][-1]
            self.order.carried()
        slot = self.slot
        self.actions = actions
        self.buffers["action"][slot] = actions
        for part, _ in self._parts:
            part.step(slot)
        self.order.wrote(self.order.next(slot))

    def field(self, name: str) -> Array:
        """Return a field's current rows, decoded."""
        item = next(item for item in self.task.fields if item.name == name)
        return item.decode(self.buffers[name][self.slot if item.timed else 0])

    def save(self) -> None:
        """Write the whole states into the buffers, if that happens only on request."""
        if self.task.saves:
            for part, _ in self._parts:
                cast("Savable", part).save(self.slot)

    def load(self) -> None:
        """Continue from the states in the buffers, if they are saved on request."""
        if self.task.saves:
            for part, _ in self._parts:
                cast("Savable", part).load(self.slot)

    def shown(self) -> list[bytes]:
        """Return what must be equal after equal steps, including the state if it is in the buffer."""
        names = ("observation", "reward", "terminated", "truncated", *(("state",) if self.task.state_at_hand else ()))
        return [self.field(name).tobytes() for name in names]

    def close(self) -> None:
        """Release the environments."""
        for part, _ in self._parts:
            part.close()


def _check_fields(task: Task, buffers: dict[str, Array]) -> None:
    names = [item.name for item in task.fields]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise NotConforming(f"{task.name}: names of fields must be unique, but {', '.join(sorted(twice))} occurs twice")
    drawn = [name for panel in task.panels for name in panel.fields]
    missing = [name for name in drawn if name not in buffers or len(buffers[name]) != 1]
    if missing:
        raise NotConforming(
            f"{task.name}: panels can draw only untimed fields of the task, but {', '.join(missing)} is not one"
        )
    for name, (lo, hi) in task.slices.items():
        if not 0 <= lo < hi <= task.observation.shape[0]:
            raise NotConforming(
                f"{task.name}: slice {name} is {lo}..{hi}, the observation has {task.observation.shape[0]}"
            )


def _check_uniform(play: TrialRun) -> None:
    lo, hi = play.task.observation.uniform
    if any((plane != plane.flat[0]).any() for row in play.field("observation") for plane in row[lo:hi]):
        raise NotConforming(
            f"{play.task.name}: planes {lo}..{hi} of the observation are declared uniform, but one is not"
        )


def _check_step(play: TrialRun) -> None:
    task, before = play.task, play.returns
    play.step(play.choose())
    rewards = play.field("reward")
    observations = play.field("observation")
    if not np.isfinite(rewards).all() or not np.isfinite(observations.astype(np.float64)).all():
        raise NotConforming(f"{task.name}: rewards and observations must be finite, got {rewards}")
    low, high = task.observation.low, task.observation.high
    if observations.min() < low or observations.max() > high:
        raise NotConforming(
            f"{task.name}: observations must lie within {low:g}..{high:g}, "
            f"got {observations.min():g}..{observations.max():g}"
        )
    if task.reward_terms and not np.allclose(play.field("reward_terms").sum(axis=-1), rewards, atol=1e-5):
        raise NotConforming(f"{task.name}: the reward must be the sum of its terms {', '.join(task.reward_terms)}")
    ended = (play.field("terminated") | play.field("truncated")).astype(np.bool_)
    reported = play.field("episode_return")
    if not task.own_score and not np.allclose(reported, before + rewards, rtol=1e-4, atol=1e-4):
        raise NotConforming(f"{task.name}: episode_return is the sum of the rewards {before + rewards}, got {reported}")
    outcome = np.repeat(play.field("outcome"), task.players)
    if task.outcomes and not np.array_equal(outcome > 0, ended):
        raise NotConforming(
            f"{task.name}: outcome must be set exactly where an episode ended, got {outcome} at ends {ended}"
        )
    final = play.field("final_observation")
    if ended.any() and not final[ended].any() and observations[~ended].any():
        raise NotConforming(
            f"{task.name}: the end of an episode writes its last observation into final_observation, got zeros"
        )
    if LAST_DRAWN in play.buffers and LOOKED_AT not in play.buffers:
        over = ended[:: task.players]
        if (play.field(LAST_DRAWN)[over] != play.field("episode")[over]).any():
            raise NotConforming(
                f"{task.name}: the step that ends an episode writes its last boards into final_... and 1 + its "
                "episode into final_drawn; it did not"
            )
    play.returns = np.where(ended, 0.0, before + rewards)


def _compare(first: TrialRun, second: TrialRun, promise: str) -> None:
    for item in first.task.fields:
        slot = first.slot if item.timed else 0
        if first.buffers[item.name][slot].tobytes() != second.buffers[item.name][slot].tobytes():
            raise NotConforming(f"{first.task.name}: {promise} must give the same bytes, {item.name} differs")


def _check_state(play: TrialRun, steps: int) -> None:
    """Check that a restored state and the same actions give the same results."""
    play.save()
    slot, saved = play.slot, {name: array.copy() for name, array in play.buffers.items()}
    taken, reached = [], []
    for _ in range(steps):
        taken.append(play.choose())
        play.step(taken[-1])
        reached.append(play.shown())
    for name, array in saved.items():
        play.buffers[name][...] = array
    play.order.begin(slot)
    play.load()
    for actions, expected in zip(taken, reached, strict=True):
        play.step(actions)
        if play.shown() != expected:
            raise NotConforming(f"{play.task.name}: a restored state must continue as the saved one did, but does not")


def _check_episodes(counted: TrialRun, named: TrialRun) -> None:
    """Check that the third episode is the same after two others as when it is played first."""
    task = counted.task
    for _ in range(3):
        counted.begin()
    named.buffers["episode"].fill(1)
    named.begin()
    for name in ("observation", *(item.name for item in task.boards)):
        if not np.array_equal(counted.field(name), named.field(name)):
            raise NotConforming(
                f"{task.name}: reset must begin the episode after the one in the field episode, but {name} differs"
            )
