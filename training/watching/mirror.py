"""What somebody else's vector environment returned, in a buffer as the monitor reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...backends import WorkerStatus
from ...backends.layout import Layout
from ...envs import Task
from ...envs.task import DECIDES, WAITS, Array

Autoreset: TypeAlias = Literal["same step", "next step", "by hand"]
"""When an environment that ended begins anew: with the last step, with one more whose action is ignored, or never."""
SLOTS = 65
TERMINATED, TRUNCATED = 1, 2


class Tape:
    """The bytes of arrays that are all alike, until they are read as one."""

    def __init__(self, dtype: Any = None) -> None:
        self._dtype = dtype
        self._parts: list[bytes] = []

    def append(self, array: Any) -> None:
        """Keep what `array` holds now: its owner may write into it."""
        known = np.asarray(array, self._dtype)
        self._dtype = known.dtype
        self._parts.append(known.tobytes())

    def read(self) -> Array:
        """Return all that was kept, flat, and forget it."""
        joined = np.frombuffer(b"".join(self._parts), self._dtype)
        self._parts.clear()
        return joined


class Mirror:
    """N environments that step elsewhere, and a buffer that is told what came of it.

    A step only keeps bytes; `flush` writes all steps since the last flush into the buffer, some twenty operations on
    whole stretches of up to 64 steps.

    Attributes:
        buffer: The arrays of the task's fields.
        environments: Number of environments N.
        workers: None that are known.
        slot: The slot that was written last.
        room: How many more steps can be recorded before they must be flushed.
    """

    workers: Sequence[WorkerStatus] = ()

    def __init__(self, task: Task, num_envs: int, autoreset: Autoreset, read_actions: Callable[[Array], Any]) -> None:
        """Make a buffer.

        Args:
            task: What is stepped.
            num_envs: Number of environments N.
            autoreset: When an environment that ended begins anew.
            read_actions: Turns `(steps, N, ...)` actions into the buffer's, or into None.
        """
        self.buffer = Layout(task, num_envs, SLOTS).map()
        self.environments = num_envs
        self.slot = 0
        self.room = SLOTS - 1
        self._autoreset = autoreset
        self._read_actions = read_actions
        self._actions, self._rewards = Tape(), Tape()
        self._terminated, self._truncated = Tape(np.bool_), Tape(np.bool_)
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
        """Note a step of all environments, `(N,)` each."""
        self.room -= 1
        self._actions.append(actions)
        self._rewards.append(rewards)
        self._terminated.append(terminated)
        self._truncated.append(truncated)

    def decide(self, actions: Any) -> None:
        """Write the actions of the next step; all steps before must be flushed."""
        read = self._read_actions(np.reshape(actions, (1, self.environments, -1)))
        if read is not None:
            self.buffer["action"][self.slot if self.slot < SLOTS - 1 else 0] = read[0]

    def flush(self) -> bool:
        """Write what was recorded behind the last slots or from slot 1 on; return whether there was any."""
        rewards = self._rewards.read().reshape(-1, self.environments).astype(np.float64)
        count = len(rewards)
        if not count:
            return False
        terminated = self._terminated.read().reshape(rewards.shape)
        truncated = self._truncated.read().reshape(rewards.shape)
        first = self.slot if self.slot < SLOTS - 1 else 0
        self.slot = first + count
        self.room = SLOTS - 1 - self.slot or SLOTS - 1
        rows, buffer = slice(first + 1, first + 1 + count), self.buffer
        actions = self._read_actions(self._actions.read().reshape(*rewards.shape, -1))
        if actions is not None:
            buffer["action"][first : first + count] = actions
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
        self._over = ended[-1]
        self._returns = np.where(self._over, 0.0, returns[-1])
        self._lengths = np.where(self._over, -int(later), lengths[-1])
        if self._autoreset != "by hand":
            self.buffer["episode"][0] += (waits if later else ended).sum(axis=0)
        return waits
