"""Notes the steps of a vector environment of very many environments, where copying every step would cost too much."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from ...envs.fields import Array
from ...envs.unknown import UNKNOWN
from .arrays import on_device
from .batch_log import BatchLog
from .infos import Infos
from .observations import each_part, host_array
from .step_log import TERMINATED, TRUNCATED, LoggedSteps, RunningSums, infos_at, small_kind

NONE: Array = np.zeros(0, np.intp)
LARGE = 512
"""Number of environments from which on steps are added up."""


class LargeLog(BatchLog):
    """Adds up steps until they are processed. An environment's end of an episode in between is noted, but not two ends.

    Args:
        num_envs: Number of environments N.
        action: How actions are kept that are not arrays of numbers; None if they are not kept.
        begins_later: Whether the step after the end of an episode begins the next one, and ignores its action.
    """

    def __init__(self, num_envs: int, action: np.dtype[Any] | None, *, begins_later: bool = False) -> None:
        super().__init__(num_envs, action, small=False)
        self._later = begins_later
        self._slots: list[tuple[Any, ...]] = []
        self._returns, self._lengths = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        self._begins = NONE  # the environments whose next step only begins an episode
        self._clear()

    def _clear(self) -> None:
        self._count = 0  # steps that are added up
        self._rewards, self._frames = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int32)
        self._codes = np.zeros(self.num_envs, np.uint8)
        self._end_returns, self._end_lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        self._found = np.full((len(self.info_reader.names), self.num_envs), UNKNOWN, np.float32)

    def note(  # noqa: PLR0917 - as `BatchLog.note`
        self,
        actions: Any,
        entered: float,
        observations: Any,
        rewards: Any,
        terminated: Any,
        truncated: Any,
        infos: Infos,
        last: Any = None,
    ) -> None:
        """Add a step up; see `BatchLog.note`."""
        if self.ended:
            return
        self.left = now = perf_counter()
        self.inside += now - entered
        knows = bool(infos) and self._knows(infos)
        self._keep(actions, observations, last)
        if last is not None:
            self._look_at_last(last, terminated, truncated)
        self._look(observations)
        over, cut = host_array(terminated), host_array(truncated)
        ended = np.flatnonzero(np.logical_or(over, cut)) if over.any() or cut.any() else NONE
        if len(ended) and self._codes[ended].any():
            self._close_slot()
        self._add(host_array(rewards), ended, over)
        if knows and len(ended):
            self._read(infos, ended)
        self._newest = infos if knows and self.watched else None
        if now >= self.due or len(self._slots) >= self.capacity - 1:
            self.process(now)

    def _add(self, rewards: Array, ended: Array, over: Array) -> None:
        gained = rewards if rewards.ndim == 1 else rewards.reshape(self.num_envs, -1).sum(axis=1)
        self._count += 1
        self._rewards += gained
        self._returns += gained
        self._lengths += 1
        if len(self._begins):
            self._frames[self._begins] -= 1
            self._lengths[self._begins] -= 1
        if len(ended):
            self._codes[ended] = np.where(over[ended], TERMINATED, TRUNCATED)
            self._end_returns[ended], self._end_lengths[ended] = self._returns[ended], self._lengths[ended]
            self._returns[ended], self._lengths[ended] = 0.0, 0
        self._begins = ended if self._later else NONE

    def _read(self, infos: Infos, ended: Array) -> None:
        """Read the numbers of infos where episodes ended."""
        names = self.info_reader.names
        if len(self._found) < len(names):
            more = np.full((len(names) - len(self._found), self.num_envs), UNKNOWN, np.float32)
            self._found = np.concatenate([self._found, more])
        if isinstance(infos, dict) and all(is_plain(infos.get(name), self.num_envs) for name in names):
            for found, name in zip(self._found, names, strict=True):
                found[ended] = infos[name][ended]
        else:
            self._found[:, ended] = self.info_reader.read(infos)[:, ended]

    def _close_slot(self) -> None:
        """Note what was added up as one step."""
        over = self._codes > 0
        returns = np.where(over, self._end_returns, self._returns)
        lengths = np.where(over, self._end_lengths, self._lengths)
        frames = self._frames + self._count
        self._slots.append((self._given(), self._rewards, self._codes, frames, returns, lengths, self._found))
        self._clear()

    def _given(self) -> Array:
        """Return the actions of the newest step, `(N, numbers)`; with 0 numbers if they are not kept."""
        if not self.keeps or self._actions is None:
            return np.zeros((self.num_envs, 0))
        flat = self._actions if self.flatten is None else self.flatten(self._actions)
        return np.array(host_array(flat)).reshape(self.num_envs, -1)

    def take(self) -> LoggedSteps | None:
        if self._newest is not None:
            self._read(self._newest, np.arange(self.num_envs))
            self._newest = None
        if self._count:
            self._close_slot()
        if not self._slots:
            return None
        slots, self._slots = self._slots, []
        actions, rewards, codes, frames, returns, lengths, found = zip(*slots, strict=True)
        width = max(each.shape[1] for each in actions)
        given = [each if each.shape[1] == width else np.zeros((self.num_envs, width)) for each in actions]
        infos = infos_at(dict(enumerate(found)), len(self.info_reader.names), len(slots), self.num_envs)
        sums = RunningSums(np.array(frames), np.array(returns), np.array(lengths))
        unknown = self._taken_unknown(*self._nan_rows_of_device())
        return LoggedSteps(np.array(given), np.array(rewards), np.array(codes), None, infos, unknown, None, sums)

    def begin(self, observations: Any, mask: Any = None) -> None:
        super().begin(observations)
        begun = slice(None) if mask is None else mask
        self._returns[begun], self._lengths[begun], self._begins = 0.0, 0, NONE


def is_plain(batch: Any, num_envs: int) -> bool:
    """Whether a batch is an array of a number for each environment."""
    return isinstance(batch, np.ndarray) and batch.shape == (num_envs,) and batch.dtype.kind in "biuf"


def batch_logs(observations: Any, *, begins_later: bool = False) -> Callable[[int, Any], BatchLog]:
    """Return a function that makes a log, from the number of environments and how actions are kept."""
    small, device = small_kind(observations)[1] > 0, False

    def look(part: Any) -> None:
        nonlocal device
        device |= on_device(part)

    each_part(observations, look)

    def make(num_envs: int, action: Any) -> BatchLog:
        if num_envs >= LARGE and not device:
            return LargeLog(num_envs, action, begins_later=begins_later)
        return BatchLog(num_envs, action, small=small)

    return make
