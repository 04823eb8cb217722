"""What is known of the machine and of where the training thread is, second by second; owned by the sampler thread."""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from ...backends.system.cores import folders
from .gpu import GpuEvidence
from .memory import MemoryEvidence

KEPT = 720
STRIDE = 5
"""Seconds, and samples of which every so many is kept for long: an hour."""
RECENT = 60
"""Seconds of which all samples are kept."""
OWN = str(Path(__file__).parents[1] / "watching") + os.sep
"""Where the code is that draws a script's environments for viewers."""
WORK = {
    "render": frozenset({"render", "_render_frame", "render_frame"}),
    "save": frozenset({"save", "dump", "savefig", "to_csv", "savez", "write_video", "imsave", "imwrite", "save_model"}),
    "log": frozenset({"add_scalar", "add_histogram", "add_image", "add_scalars", "_log"}),
}
"""Names of functions that draw, save and log."""


class MachineSample(NamedTuple):
    """A second of the machine.

    Attributes:
        now: When, in s of the monotonic clock.
        rss: Memory of the session and its processes, in bytes.
        available: Memory that is free for programs.
        swapped: Pages per second that are read from and written to swap.
        throttled: The share of the time for which the control group had no more CPU quota.
        gpu: Utilization of the GPU in %, NaN if it is unknown or not used.
        slowest: CPU time of the busiest worker over the median of all; 0 without several workers.
        worker: Which worker that is, from 0.
    """

    now: float
    rss: int
    available: int
    swapped: float
    throttled: float
    gpu: float
    slowest: float = 0.0
    worker: int = 0


class MachineEvidence:
    """Samples of the machine, and of what the training thread was doing.

    The sampler thread adds; the training thread copies. Appending to a deque and copying one are atomic.

    Attributes:
        memory: The memory of each process.
        gpu: The GPU over time.
    """

    def __init__(self) -> None:
        self.recent: deque[MachineSample] = deque(maxlen=RECENT)
        self.hour: deque[MachineSample] = deque(maxlen=KEPT)
        self.work: deque[str] = deque(maxlen=RECENT)
        self.memory, self.gpu = MemoryEvidence(), GpuEvidence()
        self.thread = 0
        self._count = 0

    def add(self, sample: MachineSample) -> None:
        """Add the sample of a second, and what the training thread is doing."""
        self.recent.append(sample)
        if self._count % STRIDE == 0:
            self.hour.append(sample)
        self._count += 1
        frame = sys._current_frames().get(self.thread)  # noqa: SLF001 - the only way to see what another thread does
        if frame is not None:
            self.work.append(work_of(frame))

    def shares(self) -> Counter[str]:
        """Return how often of late the training thread was drawing, saving or logging."""
        return Counter(self.work.copy())


def work_of(frame: FrameType) -> str:
    """Return what a thread is doing: `render`, `save` or `log` if a function on its stack does; else an empty text."""
    found = ""
    for code in (each.f_code for each in _callers(frame)):
        if code.co_filename.startswith(OWN):
            return ""  # it draws for viewers
        found = found or next((kind for kind, names in WORK.items() if code.co_name in names), "")
    return found


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


class Counters:
    """Counters of the system that grow while swap is used, and while the control group's quota is used up."""

    def __init__(self) -> None:
        self._before: tuple[float, float, float] | None = None

    def rates(self, now: float) -> tuple[float, float]:
        """Return pages of swap per second, and the throttled share of the time, since the last call."""
        pages, throttled = _swapped(), _throttled()
        before, self._before = self._before, (now, pages, throttled)
        if before is None or now <= before[0]:
            return 0.0, 0.0
        seconds = now - before[0]
        return (pages - before[1]) / seconds, (throttled - before[2]) / seconds


def _swapped() -> float:
    """Return how many pages were swapped in and out since the machine started; 0 where it is unknown."""
    with suppress(OSError, ValueError):
        lines = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
        return sum(float(count) for name, count in lines if name in {"pswpin", "pswpout"})
    return 0.0


def _throttled() -> float:
    """Return for how many seconds the control group was throttled; 0 where it is unknown."""
    for folder in folders("cpu"):
        with suppress(OSError, ValueError):
            lines = (line.split() for line in (folder / "cpu.stat").read_text().splitlines())
            known = {name: float(value) for name, value in lines}
            if "throttled_usec" in known:
                return known["throttled_usec"] / 1e6
            if "throttled_time" in known:
                return known["throttled_time"] / 1e9
    return 0.0
