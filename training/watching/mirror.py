"""Copies the steps of a script's environments into a buffer that the monitor reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...backends.core.layout import Layout
from ...backends.core.status import WorkerStatus
from ...envs import Field, Task
from ...envs.fields import DECIDES, WAITS, Array
from ...envs.unknown import UNKNOWN
from .step_log import DROPPED, TERMINATED, LoggedSteps, StepLog
from .task import WatchedActions

STEPS_PER_FLUSH, MIN_SLOTS, MAX_SLOTS = 32768, 64, 4096
"""Steps of single environments that are flushed at once, and bounds for the number of steps of all environments."""


class ScriptMirror:
    """A buffer into which the steps of a script's N environments are copied, up to 4,096 at once.

    Attributes:
        step_log: Where steps are noted.
        buffer: The arrays of the task's fields.
        environments: Number of environments N.
        workers: Always empty.
        unknown: The environments whose observations contained NaN, in the steps that were flushed last.
        seen: Observations and numbers of infos of the steps that were flushed last; None if they are unknown.
        ends: How these steps ended episodes.

    Args:
        task: What is stepped.
        step_log: Where steps are noted.
        actions: How to read the script's actions; None if they are not kept.
        begins_later: Whether the step after the end of an episode begins the next one, and ignores its action.
        before: A mirror of fewer environments, the first of which these are.
    """

    workers: Sequence[WorkerStatus] = ()

    def __init__(
        self,
        task: Task,
        step_log: StepLog,
        actions: WatchedActions | None,
        *,
        begins_later: bool = False,
        before: ScriptMirror | None = None,
    ) -> None:
        num_envs = step_log.num_envs
        self._last = min(MAX_SLOTS, max(MIN_SLOTS, STEPS_PER_FLUSH // num_envs))
        self.buffer = Layout(task, num_envs, self._last + 1).map()
        self.environments = num_envs
        self.unknown: list[int] = []
        self.seen: tuple[Array, Array] | None = None
        self.ends: Array = np.zeros((0, 0), np.uint8)
        self.buffer["active"][0], self.buffer["episode"][0] = DECIDES, 0
        self._later, self._actions = begins_later, actions
        self.step_log = step_log
        step_log.capacity = self._last
        self._returns, self._lengths = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        self._over = np.zeros(num_envs, np.bool_)
        self._rest: LoggedSteps | None = None
        if before is not None:
            known = min(before.environments, num_envs)
            for mine, theirs in zip(self._running, before._running, strict=True):  # noqa: SLF001 - of the same class
                mine[:known] = theirs[:known]
            self.buffer["episode"][0, :known] = before.buffer["episode"][0, :known]
            self.buffer["episode_return"][0, :known] = self._returns[:known]
            self.buffer["episode_length"][0, :known] = self._lengths[:known]

    @property
    def _running(self) -> tuple[Array, ...]:
        """What is known of the running episodes."""
        return self._returns, self._lengths, self._over

    def read_infos(self, names: Sequence[str]) -> None:
        """Read more numbers of infos from now on; all steps before must be flushed."""
        for name in names:
            self.buffer[name] = np.full((self.buffer.slots, self.environments), UNKNOWN, np.float32)
        self.step_log.info_reader.names += tuple(names)

    def observe(self, item: Field) -> None:
        """Keep other numbers of observations from now on; all steps before must be flushed."""
        empty = np.zeros((self.buffer.slots, self.environments, *item.shape), item.dtype)
        self.buffer["observation"], self.buffer["final_observation"] = empty, empty.copy()

    def save(self, _slot: int) -> bool:
        """Return False: the states of a script's environments are unknown."""
        return False

    def interrupts(self, mask: NDArray[np.bool_] | None = None) -> bool:
        """Whether one of the masked environments, or of all, is within an episode; all steps before must be flushed."""
        return bool((self._lengths[slice(None) if mask is None else mask] > 0).any())

    def begin(self, mask: NDArray[np.bool_] | None = None) -> None:
        """Note that the masked environments, or all, began an episode; all steps before must be flushed."""
        begun: Any = slice(None) if mask is None else mask
        self.buffer["episode"][0, begun] += self._lengths[begun] > 0
        self._returns[begun] = self._lengths[begun] = self._over[begun] = 0

    def decide(self, actions: Any) -> bool:
        """Write the actions of the next step; return whether they are known. All steps before must be flushed."""
        if self._actions is None or actions is None:
            return False
        flat = actions if self._actions.flatten is None else self._actions.flatten(actions)
        read = self._actions.read(np.reshape(flat, (1, self.environments, -1)))
        self.buffer["action"][self.buffer.order.acting] = read[0]
        return True

    def flush(self) -> bool:
        """Write noted steps after the newest slot, or from slot 1 on; return whether there were any, maybe not all."""
        steps, self._rest = self._rest or self.step_log.take(), None
        if steps is None:
            return False
        most = self.buffer.order.room(self.buffer.order.head) or self._last
        if len(steps.rewards) > most:
            steps, self._rest = steps.until(most), steps.after(most)
        self._write(steps)
        return True

    def _write(self, steps: LoggedSteps) -> None:
        self.unknown = steps.unknown
        self.seen, self.ends = None if steps.observations is None else (steps.observations, steps.infos), steps.ends
        buffer, order, count = self.buffer, self.buffer.order, len(steps.rewards)
        if order.full:
            order.carried()  # nothing is copied: no step reads what the one before it wrote
        first = order.newest
        order.wrote(first + count, count)
        self.step_log.capacity = order.room(order.head) or self._last
        rows = slice(first + 1, first + 1 + count)
        if self._actions is not None and steps.actions.shape[2]:
            buffer["action"][first : first + count] = self._actions.read(steps.actions)
        cut, over = steps.ends > 0, (steps.ends > 0) & (steps.ends < DROPPED)
        terminated = steps.ends == TERMINATED
        buffer["reward"][rows], buffer["terminated"][rows] = steps.rewards, terminated
        buffer["truncated"][rows] = over & ~terminated
        buffer["observation"][rows] = 0
        if steps.parts is not None and "reward_terms" in buffer:
            buffer["reward_terms"][rows] = steps.parts
        buffer["final_observation"][order.newest] = 0
        for name, numbers in zip(self.step_log.info_reader.names, steps.infos, strict=True):
            buffer[name][rows] = numbers
        buffer["outcome"][rows] = np.where(over, steps.ends, 0)
        if steps.sums is not None:
            frames, buffer["episode_return"][rows], buffer["episode_length"][rows] = steps.sums
            buffer["episode"][0] += cut.sum(axis=0)
        else:
            before = np.vstack([self._over, cut[:-1]])
            frames = ~(before & self._later) if steps.stepped is None else steps.stepped
            self._count_episodes(rows, steps.rewards, before, cut, ~frames)
        buffer["active"][rows] = np.where(frames, DECIDES, WAITS)
        buffer["frames"][rows] = frames

    def _count_episodes(self, rows: slice, rewards: Array, before: Array, cut: Array, waits: Array) -> None:
        """Write returns and lengths of the episodes so far; those that were `cut` in a step begin anew after it."""
        steps = np.arange(1, 1 + len(cut))[:, None]
        begun = np.maximum.accumulate(np.where(before, steps - 1, 0))  # after that step of the stretch; 0: before it
        returns = self._sum_up(rewards, before, begun)
        own = np.vstack([self._lengths, ~waits]).cumsum(axis=0)
        own[0] = 0
        lengths = own[1:] - np.take_along_axis(own, begun, axis=0)
        self.buffer["episode_return"][rows], self.buffer["episode_length"][rows] = returns, lengths
        self._over = cut[-1]
        self._returns = np.where(self._over, 0.0, returns[-1])
        self._lengths = np.where(self._over, 0, lengths[-1])
        self.buffer["episode"][0] += cut.sum(axis=0)

    def _sum_up(self, rewards: Array, before: Array, begun: Array) -> NDArray[np.float64]:
        """Return the rewards of every step's episode so far."""
        sums: NDArray[np.float64] = np.vstack([self._returns, rewards]).cumsum(axis=0)
        if np.isfinite(sums[-1]).all():
            sums[0] = 0  # earlier rewards belong to the episodes that were running before these steps
            return sums[1:] - np.take_along_axis(sums, begun, axis=0)
        running = self._returns  # with NaN or infinite rewards, differences of sums are wrong
        for step, gained in enumerate(rewards):
            running = np.where(before[step], 0.0, running) + gained
            sums[1 + step] = running
        return sums[1:]
