"""Records with PyTorch's profiler which kernels a GPU runs, or which operators the CPU, when a viewer asks.

Only the training thread starts and stops the profiler: at the gate, where it captures no graph.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...backends.core.status import usage
from ...envs.printable import printable
from .control import CommandRefused
from .tracing import packed

if TYPE_CHECKING:  # PyTorch's profiler is imported when somebody asks
    from torch.profiler import profile

MOST_SECONDS = 5.0
"""The longest time that is recorded at once."""
PATIENCE = 20.0
"""Seconds in which the training must come to the gate for the profiler to start, and to stop."""
LONGEST = 2 * (MOST_SECONDS + PATIENCE)
"""Seconds within which a recording is there, or refused."""
MOST_EVENTS = 400_000
"""Kernels or operators of one recording."""
MOST_GROWTH = 128 << 20
"""Bytes by which the process may grow before a recording ends early: about 300,000 operators, which take five times
that much after it is stopped."""
LOOK = 20_000_000
"""Ns between two looks at that."""
MOST_TEXT = 200
"""Characters of a name: kernels of templates have very long ones."""
SILENT = "6"
"""The profiler otherwise writes a line into the output of the session at each start and stop."""
MARK = "pac-tui clock"
"""A range whose begin and end are noted in both clocks."""
MARKS = 3
"""How many at the start and at the end: the first one takes longer than the others."""
COPIES = frozenset({"gpu_memcpy", "gpu_memset"})
KERNELS = frozenset({"kernel", "concurrent_kernel", *COPIES})
OPERATOR, RANGE = "cpu_op", "user_annotation"


class ClockMark(NamedTuple):
    """When a range with the name `MARK` began and ended, in ns of the monotonic clock."""

    begin: int
    end: int


class KernelRecording:
    """What one viewer has asked for. Only the training thread changes it, but for `cancelled`.

    Attributes:
        seconds: For how long.
        cancelled: Whether nobody waits for it any more.
        begin: When the profiler was on; 0: it is not yet.
        end: When it was stopped.
        steps: Steps of the environments meanwhile.
        held: Seconds for which starting and stopping held the training.
        problem: Why there is none.
        threads: The names of threads by their numbers in the system.
    """

    def __init__(self, seconds: float, device: str) -> None:
        self.seconds, self.device = seconds, device
        self.cancelled, self.problem = False, ""
        self.begin = self.end = self.steps = 0
        self.held = 0.0
        self.threads: dict[int, str] = {}
        self.begun, self.done = threading.Event(), threading.Event()
        self._marks: list[ClockMark] = []
        self._size = self._looked = 0
        self._profile: profile | None = None

    @property
    def running(self) -> bool:
        """Whether the profiler is on."""
        return bool(self.begin) and not self.end

    @property
    def due(self) -> bool:
        """Whether to stop the profiler: the time is over, nobody waits, or it has taken too much memory."""
        now = time.monotonic_ns()
        if self.cancelled or now >= self.begin + 1e9 * self.seconds:
            return True
        if now < self._looked + LOOK:
            return False
        self._looked = now
        return usage()[1] > self._size + MOST_GROWTH

    def start(self, steps: int) -> None:
        """Start the profiler, in the training thread."""
        begun = time.monotonic()
        from torch import cuda
        from torch._C._autograd import _profiler_enabled
        from torch._C._profiler import _ExperimentalConfig
        from torch.autograd import profiler
        from torch.profiler import ProfilerActivity, profile

        if _profiler_enabled() or profiler._is_profiler_enabled:  # noqa: SLF001 - nothing else says whether another is on
            self.problem = "PyTorch's profiler is already in use in this process: end that first"
            return
        os.environ.setdefault("KINETO_LOG_LEVEL", SILENT)
        gpu = self.device != "cpu"
        if gpu and cuda.is_current_stream_capturing():
            return  # at the next gate
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if gpu else [])]
        self._profile = profile(
            activities=activities, experimental_config=_ExperimentalConfig(profile_all_threads=True)
        )
        self._profile.start()
        self.steps = -steps
        self._mark()
        self.threads[threading.get_native_id()] = "training"
        self._size = usage()[1]
        self.begin = self._looked = time.monotonic_ns()
        self.held += time.monotonic() - begun

    def stop(self, steps: int) -> None:
        """Stop the profiler, in the training thread."""
        assert self._profile is not None
        begun = time.monotonic()
        self.end, self.steps = time.monotonic_ns(), self.steps + steps
        for thread in threading.enumerate():
            self.threads.setdefault(thread.native_id or 0, thread.name)
        self._mark()
        self._profile.stop()
        self.held += time.monotonic() - begun

    def fail(self, error: Exception) -> None:
        """Note that starting or stopping has failed, and leave no profiler on."""
        self.problem = f"PyTorch's profiler has failed: {type(error).__name__}: {error}"
        if self._profile is not None and not self.end:
            self.end = time.monotonic_ns()
            with suppress(Exception):
                self._profile.stop()

    def _mark(self) -> None:
        from torch.profiler import record_function

        for _ in range(MARKS):
            begin = time.monotonic_ns()
            with record_function(MARK):
                pass
            self._marks.append(ClockMark(begin, time.monotonic_ns()))

    def answer(self) -> dict[str, Any]:
        """Return what was recorded, as JSON data; in the thread of the viewer.

        Times are in ns of the monotonic clock. What began after the first `MOST_EVENTS` is not there, nor is the time.
        """
        assert self._profile is not None
        found, self._profile = self._profile.profiler, None
        assert found is not None
        events = found.kineto_results.events() if found.kineto_results is not None else []
        found.kineto_results = None  # cycles of references would keep it
        marks = (event for event in events if event.activity_type() == RANGE and event.name() == MARK)
        seen = [(event.start_ns(), event.end_ns()) for event in marks]
        shift = shift_of(seen, self._marks)
        lanes: dict[str, int] = {}
        names: dict[tuple[str, bool], int] = {}
        rows = [
            (lanes.setdefault(lane, len(lanes)), names.setdefault(name, len(names)), begin, end)
            for lane, name, begin, end in named(events, self.threads, gpu=self.device != "cpu")
        ]
        table = np.array(rows, np.int64).reshape(-1, 4)
        table[:, 2:] += shift
        table = table[(table[:, 3] > self.begin) & (table[:, 2] < self.end)]
        table = table[np.argsort(table[:, 2], kind="stable")]
        lost, end = max(0, len(table) - MOST_EVENTS), self.end
        if lost:
            end, table = int(table[MOST_EVENTS, 2]), table[:MOST_EVENTS]
        return {
            "pid": os.getpid(),
            "device": self.device,
            "begin": self.begin,
            "end": end,
            "lanes": [*lanes],
            "names": [*names],
            "which": packed(table[:, 0] * len(names) + table[:, 1]),
            "times": packed(np.clip(table[:, 2:], self.begin, end)),
            "lost": lost,
            "during": 1e9 * self.steps / (self.end - self.begin),
            "held": self.held,
        }


def shift_of(seen: Sequence[tuple[int, int]], marks: Sequence[ClockMark]) -> int:
    """Return what to add to times of the profiler, in ns, from the shortest range that both have measured.

    Raises:
        CommandRefused: The profiler has not seen all of them.
    """
    if len(seen) != len(marks):
        raise CommandRefused("PyTorch's profiler has left out what pac-tui has marked, so its clock is not known")
    pairs = zip(sorted(seen), marks, strict=True)
    return min((mark.end - mark.begin, sum(mark) // 2 - (begin + end) // 2) for (begin, end), mark in pairs)[1]


def named(
    events: Iterable[Any], threads: Mapping[int, str], *, gpu: bool
) -> Iterable[tuple[str, tuple[str, bool], int, int]]:
    """Return lane, name with whether it copies, begin and end of the kernels of a GPU, or of the CPU's operators."""
    for event in events:
        kind, resource = event.activity_type(), event.device_resource_id()
        if gpu and kind in KERNELS:
            lane = f"GPU {event.device_index()} stream {resource}"
        elif not gpu and kind == OPERATOR:
            lane = f"operators of {threads.get(resource, f'thread {resource}')}"
        else:
            continue
        yield lane, (printable(event.name()[:MOST_TEXT]), kind in COPIES), event.start_ns(), event.end_ns()


class KernelRecorder:
    """Records on request of a viewer, for one at a time.

    The thread of the viewer calls `record`, the training thread `pass_gate` and `close`. A request is there until the
    training thread has taken it away, so the profiler is never on without one.

    Args:
        device: Returns where the training computes; an empty text if not with PyTorch.
        steps: Returns how many steps the environments have made.
        on_held: Called in the training thread after the profiler has held it.
    """

    def __init__(self, device: Callable[[], str], steps: Callable[[], int], on_held: Callable[[], None]) -> None:
        self._device, self._steps, self._on_held = device, steps, on_held
        self._asking = threading.Lock()
        self._closed = False
        self._wanted: KernelRecording | None = None

    def record(self, seconds: float, before: float) -> dict[str, Any]:
        """Return what was recorded for some seconds from the next gate on.

        Args:
            seconds: For how long.
            before: Steps per second without it; NaN if unknown.

        Raises:
            CommandRefused: It cannot be recorded now.
        """
        if not (device := self._device()):
            raise CommandRefused("this trainer computes nothing with PyTorch, so there are no kernels or operators")
        with self._asking:
            if self._wanted is not None:
                raise CommandRefused("kernels are being recorded for another viewer; try again in a few seconds")
            self._wanted = recording = KernelRecording(seconds, device)
        if self._closed:
            self._wanted = None
            raise CommandRefused("the training is ending")
        if not recording.begun.wait(PATIENCE) or not recording.done.wait(seconds + PATIENCE):
            recording.cancelled = True
            raise CommandRefused(
                f"the training has made no step for {PATIENCE:g} s; `pac-tui stacks RUN` shows where it is"
            )
        if recording.problem:
            raise CommandRefused(recording.problem)
        answer = {**recording.answer(), "before": before if math.isfinite(before) else None}
        with suppress(AttributeError, OSError):  # of glibc: give back what hundreds of thousands of events took
            ctypes.CDLL(None).malloc_trim(0)
        return answer

    def pass_gate(self) -> None:
        """Start or stop the profiler if that is due; in the training thread, outside of a captured graph."""
        recording = self._wanted
        if recording is None:
            return
        if not recording.running:
            if not recording.cancelled:
                self._try(recording, recording.start)
        elif recording.due:
            self._try(recording, recording.stop)
        if recording.running:
            recording.begun.set()
        elif recording.end or recording.cancelled or recording.problem:
            self._give(recording)

    def close(self) -> None:
        """Stop the profiler, because the training ends: what was recorded until now is the answer."""
        self._closed = True
        recording = self._wanted
        if recording is None:
            return
        if recording.running:
            self._try(recording, recording.stop)
        else:
            recording.problem = "the training has ended"
        self._give(recording)

    def _try(self, recording: KernelRecording, change: Callable[[int], None]) -> None:
        try:
            change(self._steps())
        except Exception as error:  # the training goes on without the profiler
            recording.fail(error)
        self._on_held()

    def _give(self, recording: KernelRecording) -> None:
        self._wanted = None
        recording.begun.set()
        recording.done.set()
