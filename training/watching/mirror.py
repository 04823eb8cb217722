"""Copies what a script's vector environment returned into a buffer that the monitor reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...backends import WorkerStatus
from ...backends.core.layout import Layout
from ...envs import Task
from ...envs.fields import DECIDES, WAITS, Array
from .step_log import StepLog
from .task import WatchedActions

Autoreset: TypeAlias = Literal["same step", "next step", "by hand"]
"""When an environment is reset: in the step that ends an episode, in the next one (its action is ignored), or never."""
STEPS_PER_FLUSH, MIN_SLOTS, MAX_SLOTS = 32768, 64, 4096
"""Steps of single environments that are flushed at once, and bounds for the number of steps of all environments."""
TERMINATED, TRUNCATED = 1, 2


class ScriptMirror:
    """A buffer into which the steps of a script's N environments are copied.

    A step is only logged; `flush` writes up to 4,096 logged steps into the buffer at once, with vectorized operations.

    Attributes:
        step_log: Where steps are noted.
        buffer: The arrays of the task's fields.
        environments: Number of environments N.
        workers: Always empty.
        unknown: The environments whose observations contained NaN, in the steps that were flushed last.
    """

    workers: Sequence[WorkerStatus] = ()

    def __init__(
        self,
        task: Task,
        num_envs: int,
        autoreset: Autoreset,
        actions: WatchedActions | None = None,
        observations: Any = None,
        *,
        make_step_log: type[StepLog] = StepLog,
    ) -> None:
        """Make a buffer.

        Args:
            task: What is stepped.
            num_envs: Number of environments N.
            autoreset: When an environment is reset after the end of an episode.
            actions: How to read the script's actions; None if they are not kept.
            observations: A first batch.
            make_step_log: The class that notes the steps.
        """
        self._last = min(MAX_SLOTS, max(MIN_SLOTS, STEPS_PER_FLUSH // num_envs))
        self.buffer = Layout(task, num_envs, self._last + 1).map()
        self.environments = num_envs
        self.unknown: list[int] = []
        self.buffer["active"][0], self.buffer["episode"][0] = DECIDES, 0
        self._autoreset = autoreset
        self._actions = actions if actions is not None and actions.reads else None
        action = None if self._actions is None else self.buffer["action"].dtype
        self.step_log = make_step_log(num_envs, action, observations)
        self.step_log.flatten = None if self._actions is None else self._actions.flatten
        self.step_log.capacity = self._last
        self._returns, self._lengths = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        self._over = np.zeros(num_envs, np.bool_)

    def read_infos(self, names: Sequence[str]) -> None:
        """Read more numbers of infos from now on; all steps before must be flushed."""
        for name in names:
            self.buffer[name] = np.full((self.buffer.slots, self.environments), np.nan, np.float32)
        self.step_log.info_reader.names += tuple(names)

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

    def decide(self, actions: Any) -> None:
        """Write the actions of the next step; all steps before must be flushed."""
        if self._actions is not None:
            flat = actions if self._actions.flatten is None else self._actions.flatten(actions)
            read = self._actions.read(np.reshape(flat, (1, self.environments, -1)))
            self.buffer["action"][self.buffer.order.acting] = read[0]

    def flush(self) -> bool:
        """Write the logged steps after the newest slot, or from slot 1 on; return whether there were any."""
        steps = self.step_log.take()
        if steps is None:
            return False
        rewards, terminated, truncated, self.unknown = steps.rewards, steps.terminated, steps.truncated, steps.unknown
        buffer, order, count = self.buffer, self.buffer.order, len(rewards)
        if order.full:
            order.carried()  # nothing is copied: no step reads what the one before it wrote
        first = order.newest
        order.wrote(first + count, count)
        self.step_log.capacity = order.room(order.head) or self._last
        rows = slice(first + 1, first + 1 + count)
        if self._actions is not None:
            buffer["action"][first : first + count] = self._actions.read(steps.actions)
        buffer["reward"][rows], buffer["terminated"][rows], buffer["truncated"][rows] = rewards, terminated, truncated
        buffer["observation"][rows] = 0
        if self._autoreset == "same step":
            buffer["final_observation"][order.newest] = 0
        for name, numbers in zip(self.step_log.info_reader.names, steps.infos, strict=True):
            buffer[name][rows] = numbers
        buffer["outcome"][rows] = np.where(terminated, TERMINATED, TRUNCATED * truncated)
        waits = self._count_episodes(rows, rewards, terminated | truncated)
        buffer["active"][rows] = np.where(waits, WAITS, DECIDES)
        buffer["frames"][rows] = ~waits
        return True

    def _count_episodes(self, rows: slice, rewards: Array, ended: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Write returns and lengths; return where a step only began an episode, `(steps, N)`."""
        later = self._autoreset == "next step"
        before = np.vstack([self._over, ended[:-1]])
        waits = before & later
        steps = np.arange(1, 1 + len(ended))[:, None]
        begun = np.maximum.accumulate(np.where(before, steps - 1, 0))  # after that step of the stretch; 0: before it
        returns = self._sum_up(rewards, before, begun)
        lengths = steps + self._lengths - np.where(begun > 0, begun + self._lengths + later, 0)
        self.buffer["episode_return"][rows], self.buffer["episode_length"][rows] = returns, lengths
        self._over = ended[-1]
        self._returns = np.where(self._over, 0.0, returns[-1])
        self._lengths = np.where(self._over, -int(later), lengths[-1])
        self.buffer["episode"][0] += ended.sum(axis=0)
        return waits

    def _sum_up(self, rewards: Array, before: NDArray[np.bool_], begun: NDArray[np.intp]) -> NDArray[np.float64]:
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
