"""Environments of native games, stepped by one parallel launch per step on the device that holds the buffer."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ..core.base import Backend
from ..core.layout import Layout
from ..core.status import WorkerState, WorkerStatus, usage

if TYPE_CHECKING:
    from ...envs.driver import NativeEnvironments


class DeviceBackend(Backend):
    """Steps all environments by one launch of the game's kernel: on `cpu`, a compiled loop over slices in threads."""

    name: ClassVar[str] = "device"

    @classmethod
    def unavailable(cls, layout: Layout) -> str:
        """Return why the kernels cannot be launched: it needs a native game, and OpenMP."""
        if not layout.task.native or layout.task.shared:
            return "its rules are not kernels over the fields of single environments"
        from ...envs.openmp import unavailable

        return unavailable()

    def _open(self) -> None:
        self._fill(self.seed)
        self._steps, self._pending = 0, 0
        self._beat = time.monotonic()

    def _fill(self, seed: int) -> None:
        from ...envs.launching import Launcher

        spans = self._spans()
        self._slices = [cast("NativeEnvironments", self.task.make(lo, hi, self.buffer, seed)) for lo, hi in spans]
        self._launcher = Launcher(self._slices, self.slots, len(spans))

    def _reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        for each in self._slices:
            each.reset(mask[each.lo : each.hi], slot)

    def _reseed(self, seed: int) -> None:
        self._stop()
        self.buffer.reset_episodes()
        self._fill(seed)

    def _begin(self, slot: int) -> None:
        self._pending = slot

    def _finish(self, timeout: float) -> None:  # noqa: ARG002 - a launch cannot be interrupted
        begun = time.perf_counter()
        self._launcher.step(self._pending)
        self.busy_seconds += time.perf_counter() - begun
        self._steps += 1
        self._beat = time.monotonic()

    def _stop(self) -> None:
        for each in self._slices:
            each.close()
        self._slices.clear()

    @property
    def workers(self) -> Sequence[WorkerStatus]:
        """This process, as the one worker: its threads share every step."""
        age = time.monotonic() - self._beat
        return (WorkerStatus(0, os.getpid(), 0, self.environments, WorkerState.READY, self._steps, age, 0, *usage()),)
