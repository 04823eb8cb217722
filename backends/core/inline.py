"""The reference backend: all environments in one loop, in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ...envs.spaces.drawing import BUDGET
from ...envs.task import Savable
from .base import Backend
from .status import WorkerState, WorkerStatus, usage


class LocalBackend(Backend):
    """Steps all environments in `_finish`, in the calling thread."""

    def _open(self) -> None:
        self._pending = self._steps = 0
        self._beat = time.monotonic()

    def _begin(self, slot: int) -> None:
        self._pending = slot

    def _count_steps(self, begun: float, steps: int = 1) -> None:
        """Count steps that began at `begun`, in s of `time.perf_counter`, and end now."""
        self.busy_seconds += time.perf_counter() - begun
        self._steps += steps
        self._beat = time.monotonic()

    @property
    def picture_seconds(self) -> float:
        """How long the last picture took."""
        return BUDGET.seconds

    @property
    def workers(self) -> Sequence[WorkerStatus]:
        """This process, as the one worker."""
        age = time.monotonic() - self._beat
        return (WorkerStatus(0, os.getpid(), 0, self.environments, WorkerState.READY, self._steps, age, 0, *usage()),)


class InlineBackend(LocalBackend):
    """Steps the environments one after the other. The other backends are tested against it."""

    name: ClassVar[str] = "inline"

    def _open(self) -> None:
        super()._open()
        self._environments = self.task.make(0, self.environments, self.buffer, self.seed)

    def _reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        self._environments.reset(mask, slot)
        self._beat = time.monotonic()

    def _save(self, slot: int) -> bool:
        cast("Savable", self._environments).save(slot)
        return True

    def _load(self, slot: int) -> bool:
        cast("Savable", self._environments).load(slot)
        return True

    def _reseed(self, seed: int) -> None:
        self._environments.close()
        self.buffer.reset_episodes()
        self._environments = self.task.make(0, self.environments, self.buffer, seed)

    def _finish(self, timeout: float) -> None:  # noqa: ARG002
        begun = time.perf_counter()
        self._environments.step(self._pending)
        self._count_steps(begun)

    def _stop(self) -> None:
        self._environments.close()
