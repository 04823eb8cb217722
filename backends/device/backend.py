"""Environments of native games, stepped by one parallel launch per step on the device that holds the buffer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ...envs.errors import IllegalAction
from ...envs.fields import Array
from ..core.actions import ActionCheck
from ..core.errors import BackendUnavailable
from ..core.finite import NumberCheck
from ..core.inline import LocalBackend
from ..core.layout import Buffer, Layout
from ..core.status import BackendStage

if TYPE_CHECKING:
    from ...envs.driver import NativeEnvironments
    from ...envs.launching import Launcher
    from .memory import DeviceMemory
    from .sync import SyncCheck


class DeviceBackend(LocalBackend):
    """Steps all environments by one launch of the game's kernel.

    On `cpu`, the kernel is a compiled loop over slices in threads, and the buffer is in the memory of the host. On a
    GPU, it is a CUDA kernel with a thread per environment, and the buffer is in the memory of the GPU. There, a step
    returns once it is launched, and an illegal action raises an error at the end of its rollout.
    """

    name: ClassVar[str] = "device"

    sync_check: SyncCheck | None = None

    def check_each_step(self) -> None:
        """Wait for each step from now on, and compare its results with the CPU. Call this before the first episode."""
        from .sync import SyncCheck

        self.sync_check = SyncCheck(self)

    @classmethod
    def unavailable(cls, layout: Layout) -> str:
        """Return why the kernels cannot be launched: it needs a native game, and OpenMP or a GPU."""
        if not layout.task.native or layout.task.shared:
            return "it is not a native game, or its environments share tables"
        if layout.device.startswith("cuda"):
            from ...envs.cuda import unavailable as without_compiler

            return without_compiler() or _without_gpu(layout.device)
        from ...envs.openmp import unavailable

        return unavailable()

    def _allocate(self, layout: Layout, *, segment: bool) -> Buffer:
        self._memory: DeviceMemory | None = None
        if layout.device == "cpu":
            return super()._allocate(layout, segment=segment)
        if segment:
            raise BackendUnavailable("other processes cannot map the memory of a GPU; use --device cpu")
        from .budget import budget_of
        from .memory import DeviceMemory

        self._budget = budget_of(layout).text
        self._memory = DeviceMemory(layout)
        return self._memory

    def _open(self) -> None:
        super()._open()
        if self._memory is not None and self._memory.where.type == "cuda":
            self._event("info", self._budget)
        self._fill(self.seed)

    def _fill(self, seed: int) -> None:
        from ...envs.launching import SIMULATED, CpuLauncher

        memory = self._memory
        on_gpu = memory is not None and (SIMULATED or memory.where.type != "cpu")
        spans = [(0, self.environments)] if on_gpu else self._spans()
        host = self.buffer if memory is None else memory.host
        self._slices = [cast("NativeEnvironments", self.task.make(lo, hi, host, seed)) for lo, hi in spans]
        self._launcher: Launcher
        if memory is not None and on_gpu:
            from .gpu import CudaLauncher

            self._launcher = CudaLauncher(self._slices[0], memory)
        else:
            packed = [each.packed for each in self._slices]
            tables = [each.words if memory is None else each.moved(memory.address_of) for each in packed]
            self._launcher = CpuLauncher(self._slices, np.stack(tables), self.slots, len(spans))

    def _checks(self) -> tuple[ActionCheck, NumberCheck]:
        if self._memory is None:
            return super()._checks()
        from .memory import DeviceNumberCheck

        return (lambda _slot: None), DeviceNumberCheck(self.task, self._memory)

    def _reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        if mask.any():
            self._launcher.reset(mask, slot, self.seed)
            if self.sync_check is not None:
                self.sync_check.reset(mask, slot)

    def _reseed(self, seed: int) -> None:
        self._close_slices()
        self.buffer.reset_episodes()
        self._fill(seed)

    def restore(self, states: Array, slot: int = 0) -> bool:
        """Continue from saved states, see `Stepping.restore`."""
        restored = super().restore(states, slot) if self._memory is None else self._restore(states, slot)
        if restored and self.sync_check is not None:
            self.sync_check.restore(states, slot)
        return restored

    def _restore(self, states: Array, slot: int) -> bool:
        self._expect(BackendStage.READY)
        if self.buffer["state"].shape[1:] != states.shape:
            return False
        for each in self._slices:
            each.check_states(states[each.lo : each.hi])
        self.buffer["state"][0] = states
        self._launcher.show(slot)
        return True

    def _finish(self, timeout: float) -> None:  # noqa: ARG002 - a launch cannot be interrupted
        begun = time.perf_counter()
        self._launcher.step(self._pending)
        self._count_steps(begun)
        if self._memory is None or self.sync_check is not None or not self.buffer.order.has_next(self._following):
            self._check_legal()
        if self.sync_check is not None:
            self.sync_check.step(self._pending, self._following)

    @property
    def stepwise(self) -> bool:
        """Whether every step is compared with the CPU before the next one."""
        return self.sync_check is not None

    def launch(self, slot: int) -> None:
        """Launch the step of a slot without checking or counting it, to capture it in a graph for `run_captured`."""
        self._launcher.step(slot)

    def run_captured(self, slot: int, steps: int, play: Callable[[], None]) -> None:
        """Make `steps` steps from `slot` on by calling `play`, which runs the captured calls of `launch`.

        Raises:
            IllegalAction: An action of one of the steps is illegal.
        """
        self._expect(BackendStage.READY)
        begun = time.perf_counter()
        self._stage = BackendStage.BROKEN
        play()
        self._count_steps(begun, steps)
        self._check_legal()
        self.buffer.order.wrote(slot + steps, steps)
        self._stage = BackendStage.READY

    def _check_numbers(self) -> None:
        if self._memory is not None:
            self._check_legal()
        super()._check_numbers()

    def _check_legal(self) -> None:
        """Raise the error about an illegal action since the last check; waits for the steps."""
        if (found := self._launcher.illegal()) is None:
            return
        action = int(self.buffer["action"][found.slot, found.row])
        error = self._slices[0].complaint(found.row, action)
        raise error if self._memory is None else IllegalAction(f"{error}; this was step {found.slot + 1} of a rollout")

    def _stop(self) -> None:
        self._close_slices()
        if self.sync_check is not None:
            self.sync_check.close()
        if self._memory is not None:
            self._memory.release()

    def _close_slices(self) -> None:
        for each in self._slices:
            each.close()
        self._slices.clear()


def _without_gpu(device: str) -> str:
    from .memory import torch_device

    try:
        torch_device(device)
    except BackendUnavailable as error:
        return str(error)
    return ""
