"""What a session has answered about its memory, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..envs.printable import printable
from .diagnosis.memory import full_in
from .profile import Malformed

Reals = NDArray[np.float64]
GPU_CURVES = ("utilization", "memory", "SM clock", "power")
"""The curves of a GPU, in the order of its answer."""
SMALL = 0.02
"""Lines that keep less than this share of what the first one keeps are left out for people."""


@dataclass(frozen=True)
class ProcessUse:
    """A process.

    Attributes:
        name: What it is called, with the rank if there are several.
        pid: Its id.
        envs: Which environments it steps; empty for none.
        own: Memory that only it uses, in bytes.
        shared: Its memory that others may use, too: libraries, files, shared memory.
        rate: Bytes per minute by which its own memory grows; NaN while unknown.
        steady: Whether that grows all the time, by 0.5 MiB per minute or more.
        seconds: When the points of its curve were seen, in s before now, so negative.
        sizes: Its own memory then.
    """

    name: str
    pid: int
    envs: str
    own: float
    shared: float
    rate: float
    steady: bool
    seconds: Reals
    sizes: Reals


class MemoryPart(NamedTuple):
    """A part of the memory: what it is, how its size comes about, bytes, and where it is."""

    name: str
    detail: str
    size: float
    where: str


@dataclass(frozen=True)
class GpuUse:
    """A GPU.

    Attributes:
        name: What it is called.
        limits: The largest value of each curve: 100 %, bytes, MHz, W; NaN where it is unknown.
        throttled: Why its clock is low now.
        seconds: When the points of its curves were seen, in s before now.
        curves: A row per name in `GPU_CURVES`; NaN is unknown.
        lowered: Whether the clock was low for one of the reasons.
    """

    name: str
    limits: Sequence[float]
    throttled: Sequence[str]
    seconds: Reals
    curves: Reals
    lowered: NDArray[np.bool_]


@dataclass(frozen=True)
class MemoryUse:
    """The memory of a session.

    Attributes:
        total: Memory of the machine in bytes.
        available: What is free for programs.
        processes: All processes.
        parts: What the memory is for.
        gpu: The GPU; None without NVML or GPU.
    """

    total: float
    available: float
    processes: Sequence[ProcessUse]
    parts: Sequence[MemoryPart]
    gpu: GpuUse | None

    @property
    def used(self) -> float:
        """What all parts together take, without those on a GPU."""
        return sum(part.size for part in self.parts if part.where != "GPU")

    @property
    def growing(self) -> ProcessUse | None:
        """The process that grows fastest of those that grow all the time; None if none does."""
        return max((one for one in self.processes if one.steady), key=lambda one: one.rate, default=None)

    def left(self, process: ProcessUse) -> str:
        """Return after how long the machine is full if only this process grows; empty if it does not."""
        return full_in(self.available, process.rate) if process.steady else ""


class Allocated(NamedTuple):
    """A line that has kept memory: bytes and objects more than before, per minute, in a process."""

    process: str
    file: str
    line: int
    size: int
    objects: int
    rate: float


@dataclass(frozen=True)
class Allocations:
    """Which lines have kept memory.

    Attributes:
        lines: The lines, the largest first.
        silent: Processes that did not answer, with the reason.
        seconds: The time between the two snapshots.
        before: Steps per second before; NaN if unknown.
        during: Steps per second meanwhile.
        cost: Bytes that following took in all processes.
    """

    lines: Sequence[Allocated]
    silent: Mapping[str, str]
    seconds: float
    before: float
    during: float
    cost: float

    @property
    def large(self) -> list[Allocated]:
        """The lines that count beside the largest."""
        least = SMALL * self.lines[0].size if self.lines else 0.0
        return [one for one in self.lines if one.size >= least]

    @property
    def price(self) -> str:
        """What it has cost, as a sentence."""
        slower = f", {self.before:,.0f} before" if self.before == self.before else ""
        return (
            f"{self.during:,.0f} steps/s while allocations were followed{slower}; it took {self.cost / 2**20:.1f} MiB"
        )


def memory_use(answers: Mapping[str, Mapping[str, Any]]) -> MemoryUse:
    """Return what sessions have answered to `memory`, each under what the names of its processes begin with.

    Raises:
        Malformed: One is not such an answer.
    """
    try:
        first = next(iter(answers.values()))
        gpus = [_gpu(answer["gpu"]) for answer in answers.values() if answer["gpu"]]
        return MemoryUse(
            total=float(first["total"]),
            available=float(first["available"]),
            processes=[_process(prefix, one) for prefix, answer in answers.items() for one in answer["processes"]],
            parts=[_part(prefix, one) for prefix, answer in answers.items() for one in answer["parts"]],
            gpu=gpus[0] if gpus else None,
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, StopIteration) as error:
        raise Malformed(f"the session's answer cannot be read: {type(error).__name__}: {error}") from error


def allocations_of(answers: Mapping[str, Mapping[str, Any]]) -> Allocations:
    """Return what the sessions of a training have answered to `allocations`.

    Raises:
        Malformed: One is not such an answer.
    """
    try:
        lines, silent, seconds, cost = [], {}, 0.0, 0.0
        for prefix, answer in answers.items():
            for one in answer["processes"]:
                name = prefix + printable(str(one["process"]))
                if "text" in one:
                    silent[name] = printable(str(one["text"]))
                    continue
                seconds, cost = max(seconds, float(one["seconds"])), cost + float(one["cost"])
                lines += [_line(name, float(one["seconds"]), line) for line in one["lines"]]
        before = [_number(answer["before"]) for answer in answers.values()]
        during = [float(answer["during"]) for answer in answers.values()]
        lines.sort(key=lambda line: (-line.size, line.process, line.file, line.line))
        return Allocations(lines, silent, seconds, sum(before), sum(during), cost)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError) as error:
        raise Malformed(f"the session's answer cannot be read: {type(error).__name__}: {error}") from error


def _line(process: str, seconds: float, found: Sequence[Any]) -> Allocated:
    file, line, size, objects = found
    return Allocated(process, printable(str(file)), int(line), int(size), int(objects), 60 * int(size) / seconds)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _process(prefix: str, one: Mapping[str, Any]) -> ProcessUse:
    curve = np.array(one["curve"], np.float64).reshape(-1, 2)
    return ProcessUse(
        name=prefix + printable(str(one["process"])),
        pid=int(one["pid"]),
        envs=printable(str(one["envs"])),
        own=float(one["own"]),
        shared=float(one["shared"]),
        rate=_number(one["rate"]),
        steady=bool(one["steady"]),
        seconds=curve[:, 0],
        sizes=curve[:, 1],
    )


def _part(prefix: str, one: Mapping[str, Any]) -> MemoryPart:
    name, detail, where = (printable(str(one[key])) for key in ("name", "detail", "where"))
    return MemoryPart(prefix + name, detail, float(one["size"]), where)


def _gpu(one: Mapping[str, Any]) -> GpuUse:
    rows = [[_number(value) for value in row] for row in one["curve"]]
    curve = np.array(rows, np.float64).reshape(-1, 2 + len(GPU_CURVES)).T
    return GpuUse(
        name=printable(str(one["name"])),
        limits=[100.0, *(_number(one[key]) for key in ("total", "clock_limit", "power_limit"))],
        throttled=[printable(str(reason)) for reason in one["throttled"]],
        seconds=curve[0],
        curves=curve[1 : 1 + len(GPU_CURVES)],
        lowered=curve[-1] > 0,
    )
