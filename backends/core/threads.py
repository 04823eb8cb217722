"""Threads of this process, for tasks whose steps release the GIL."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...envs.task import Environments
from .base import Backend
from .errors import BackendTimeout
from .layout import Layout
from .status import WorkerState, WorkerStatus, usage

JOIN = 2.0
"""Time limit for the end of a thread, in s."""
HANDOVER = 60e-6
"""Time that waking a thread takes, in s; faster slices are stepped by the calling thread."""


class SliceThread:
    """A slice of the environments and a thread that steps it; the thread starts at the first `send`.

    Attributes:
        lo: Its first environment.
        hi: One past its last.
        error: The exception of the last step.
        busy: Duration of the last step, in s.
        steps: Steps done.
        pending: Whether the thread has a step to do.
    """

    def __init__(self, environments: Environments, lo: int, hi: int) -> None:
        self.environments, self.lo, self.hi = environments, lo, hi
        self.error: BaseException | None = None
        self.busy = 0.0
        self.steps = 0
        self.pending = False
        self._slot: int | None = 0
        # Both locks are signals: each is released by the thread that did not take it, so neither protects anything.
        # Between a `send` and the `wait` after it, the fields and the environments belong to the thread; at all other
        # times to the caller, because the thread is blocked on `_go`.
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._thread = threading.Thread(target=self._run, name=f"pac-envs-{lo}", daemon=True)

    def send(self, slot: int) -> None:
        """Step by the actions of `slot`, in the thread."""
        self._slot, self.pending = slot, True
        if not self._thread.is_alive():
            self._thread.start()
        self._go.release()

    def wait(self, timeout: float) -> bool:
        """Wait for the step; return whether it was done in time."""
        if self.pending and not self._done.acquire(timeout=timeout):
            return False  # the step is still pending, and another call can wait for it
        self.pending = False
        return True

    def step(self, slot: int) -> None:
        """Step by the actions of `slot`, in the calling thread."""
        begun = time.perf_counter()
        self.environments.step(slot)
        self.busy = time.perf_counter() - begun
        self.steps += 1

    def stop(self, timeout: float) -> None:
        """End the thread, unless it hangs in a step."""
        if self._thread.is_alive() and self.wait(timeout):
            # `wait` returned the fields to us, so the thread reads this only after `_go`.
            self._slot = None
            self._go.release()
            self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            self._go.acquire()
            if self._slot is None:
                return
            try:
                self.step(self._slot)
            except BaseException as error:
                self.error = error
            self._done.release()


class ThreadsBackend(Backend):
    """Steps contiguous slices in threads, one of them in the calling thread.

    If a slice takes less time than waking a thread, the calling thread steps all slices.
    """

    name: ClassVar[str] = "threads"

    @classmethod
    def unavailable(cls, layout: Layout) -> str:
        """Return why threads are no faster: Python environments hold the GIL."""
        return "" if layout.task.native else "its steps do not release the GIL"

    def _open(self) -> None:
        self._fill(self.seed)
        self._alone = False
        self._beat = time.monotonic()

    def _fill(self, seed: int) -> None:
        self._helpers = [SliceThread(self.task.make(lo, hi, self.buffer, seed), lo, hi) for lo, hi in self._spans()]

    def _reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        for helper in self._helpers:
            helper.environments.reset(mask[helper.lo : helper.hi], slot)

    def _reseed(self, seed: int) -> None:
        self._stop()
        self.buffer.reset_episodes()
        self._fill(seed)

    def _begin(self, slot: int) -> None:
        self._slot_pending = slot
        self._mine = list(self._helpers) if self._alone else self._helpers[:1]
        for helper in self._helpers[len(self._mine) :]:
            helper.send(slot)

    def _finish(self, timeout: float) -> None:
        alone = len(self._mine) == len(self._helpers)
        while self._mine:
            self._mine.pop().step(self._slot_pending)
        for helper in self._helpers:
            if not helper.wait(timeout):
                raise BackendTimeout(
                    "a thread did not finish its step within the limit; wait again, or close the backend"
                )
            if helper.error is not None:
                raise helper.error
        costs = [helper.busy for helper in self._helpers]
        self.busy_seconds += sum(costs) if alone else max(costs)
        self._alone = sum(costs) < HANDOVER * len(costs)
        self._beat = time.monotonic()

    def _stop(self) -> None:
        for helper in self._helpers:
            helper.stop(JOIN)
            helper.environments.close()
        self._helpers.clear()

    @property
    def workers(self) -> Sequence[WorkerStatus]:
        """The slices; their process is this one."""
        age, (used, rss) = time.monotonic() - self._beat, usage()
        used /= max(1, len(self._helpers))
        return tuple(
            WorkerStatus(index, os.getpid(), one.lo, one.hi, WorkerState.READY, one.steps, age, 0, used, rss)
            for index, one in enumerate(self._helpers)
        )
