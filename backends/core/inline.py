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
from .spans import Ring, StepTimes, bytes_of
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
        self._ring: Ring | None = None
        self._times: StepTimes | None = None

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
        self.time_steps(on=self._times is not None)

    def _finish(self, timeout: float) -> None:  # noqa: ARG002
        begun, times = time.perf_counter(), self._times
        if times is None:
            self._environments.step(self._pending)
        else:
            times.step(self._pending, self._steps)
        self._count_steps(begun)

    @property
    def rings(self) -> Sequence[Ring]:
        """The last steps of all environments."""
        return () if self._ring is None else (self._ring,)

    def time_steps(self, *, on: bool) -> None:
        """Note when environments step, from the next step on, or no longer."""
        if on and self._ring is None:
            spans = [(0, self.environments)]
            self._ring = Ring(memoryview(bytearray(bytes_of(spans))), spans, 0)
        self._times = StepTimes(self._environments, self._ring) if on and self._ring is not None else None

    def _stop(self) -> None:
        self._environments.close()
