"""What somebody else's vector environment returned, in a buffer as the monitor reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...backends import WorkerStatus
from ...backends.layout import Layout
from ...envs import Task
from ...envs.fields import DECIDES, WAITS, Array

Autoreset: TypeAlias = Literal["same step", "next step", "by hand"]
"""When an environment that ended begins anew: with the last step, with one more whose action is ignored, or never."""
ActionReader: TypeAlias = Callable[[Array], Array]
SLOTS = 257
TERMINATED, TRUNCATED = 1, 2


class Mirror:
    """N environments that step elsewhere, and a buffer that is told what came of it.

    A step only copies what came of it; `flush` works that into the buffer, some twenty operations on whole stretches of
    up to 256 steps.

    Attributes:
        buffer: The arrays of the task's fields.
        environments: Number of environments N.
        workers: None that are known.
        slot: The slot that was written last.
        room: How many more steps can be recorded before they must be flushed.
    """

    workers: Sequence[WorkerStatus] = ()

    def __init__(self, task: Task, num_envs: int, autoreset: Autoreset, read_actions: ActionReader | None) -> None:
        """Make a buffer.

        Args:
            task: What is stepped.
            num_envs: Number of environments N.
            autoreset: When an environment that ended begins anew.
            read_actions: Turns actions `(steps, N, numbers)` into the buffer's, if they fit there.
        """
        self.buffer = Layout(task, num_envs, SLOTS).map()
        self.environments = num_envs
        self.slot = 0
        self.room = SLOTS - 1
        self._autoreset = autoreset
        self._read_actions = read_actions
        self._actions: Array | None = None
        self._rewards = np.zeros((SLOTS - 1, num_envs))
        self._terminated, self._truncated = (np.zeros((SLOTS - 1, num_envs), np.bool_) for _ in range(2))
        self._steps = 0
        self._returns, self._lengths = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        self._over = np.zeros(num_envs, np.bool_)

    def save(self, _slot: int) -> bool:
        """Know of no states."""
        return False

    def begin(self, mask: NDArray[np.bool_] | None = None) -> None:
        """Note that the masked environments, or all, began an episode; all steps before must be flushed."""
        begun: Any = slice(None) if mask is None else mask
        self._returns[begun] = self._lengths[begun] = self._over[begun] = 0
        self.buffer["episode"][0, begun] += 1

    def record(self, actions: Any, rewards: Any, terminated: Any, truncated: Any) -> None:
        """Note a step of all environments, `(N,)` each; whoever owns the arrays may write into them afterwards."""
        at = self._steps
        self._steps = at + 1
        self.room -= 1
        if self._actions is not None:
            self._actions[at] = actions
        elif self._read_actions is not None:
            first = np.asarray(actions)
            self._actions = np.empty((SLOTS - 1, *first.shape), first.dtype)
            self._actions[at] = first
        self._rewards[at] = rewards
        self._terminated[at] = terminated
        self._truncated[at] = truncated

    def decide(self, actions: Any) -> None:
        """Write the actions of the next step; all steps before must be flushed."""
        if self._read_actions is not None:
            read = self._read_actions(np.reshape(actions, (1, self.environments, -1)))
            self.buffer["action"][self.slot if self.slot < SLOTS - 1 else 0] = read[0]

    def flush(self) -> bool:
        """Write what was recorded behind the last slots or from slot 1 on; return whether there was any."""
        count, self._steps = self._steps, 0
        if not count:
            return False
        rewards, terminated, truncated = self._rewards[:count], self._terminated[:count], self._truncated[:count]
        first = self.slot if self.slot < SLOTS - 1 else 0
        self.slot = first + count
        self.room = SLOTS - 1 - self.slot or SLOTS - 1
        rows, buffer = slice(first + 1, first + 1 + count), self.buffer
        if self._read_actions is not None and self._actions is not None:
            actions = self._actions[:count].reshape(*rewards.shape, -1)
            buffer["action"][first : first + count] = self._read_actions(actions)
        buffer["reward"][rows], buffer["terminated"][rows], buffer["truncated"][rows] = rewards, terminated, truncated
        buffer["outcome"][rows] = np.where(terminated, TERMINATED, TRUNCATED * truncated)
        waits = self._count_episodes(rows, rewards, terminated | truncated)
        buffer["active"][rows] = np.where(waits, WAITS, DECIDES)
        buffer["frames"][rows] = ~waits
        return True

    def _count_episodes(self, rows: slice, rewards: NDArray[np.float64], ended: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Write returns and lengths, `(steps, N)`; return where a step was none, but the begin of an episode."""
        later = self._autoreset == "next step"
        before = np.vstack([self._over, ended[:-1]])
        waits = before & later
        returns = self._returns + rewards.cumsum(axis=0)
        lengths = self._lengths + np.arange(1, len(rewards) + 1)[:, None]
        for step, env in zip(*(axis.tolist() for axis in ended.nonzero()), strict=True):
            returns[step + 1 :, env] -= returns[step, env]
            lengths[step + 1 :, env] -= lengths[step, env] + later
        self.buffer["episode_return"][rows], self.buffer["episode_length"][rows] = returns, lengths
        self._over = ended[-1].copy()
        self._returns = np.where(self._over, 0.0, returns[-1])
        self._lengths = np.where(self._over, -int(later), lengths[-1])
        if self._autoreset != "by hand":
            self.buffer["episode"][0] += (waits if later else ended).sum(axis=0)
        return waits
