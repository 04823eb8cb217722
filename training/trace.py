"""A trace of a session: a file of Chrome's trace events, which https://ui.perfetto.dev opens.

It is written while it is recorded. All times are of one clock, in us since the beginning. Within a lane, events follow
each other, or are within each other.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..backends.core.spans import WorkerSteps
from ..envs import BadParameter, PacError
from ..envs.printable import printable
from .kernels import KernelEvents
from .telemetry.worker_times import WaitCounter

MOST_BYTES = 256 << 20
"""Of the events, before they are compressed."""
COMPRESSION = 6
MOST_HELD = 4096
"""Steps of a worker that wait for the same steps of the others."""
OWN_PHASES = frozenset({"idle"})
"""Phases that are not written: nothing happens in them."""
STEPS_LANE, OWN_LANE, WORKER_LANE, KERNEL_LANE = 1, 2, 100, 10_000
"""Numbers of lanes within the process of a session: of steps, of its threads, of workers that have none, of kernels."""
ENVIRONMENT = "environment"


class TraceFailed(PacError):
    """A trace could not be written."""

    title = "No trace"


class MalformedPart(TraceFailed):
    """A session has answered what is no part of a trace."""


class TraceFile:
    """Writes events into a file, which appears when it is complete.

    Args:
        path: The file, which must not exist; it is compressed if its name ends with `.gz`.
        most: The most bytes of events; what follows is left out.

    Attributes:
        full: Whether events were left out.
        events: How many there are.
    """

    def __init__(self, path: Path, most: int = MOST_BYTES) -> None:
        if path.exists():
            raise BadParameter(f"{path} exists: name another file, or remove it")
        if not path.parent.is_dir():
            raise BadParameter(f"the folder {path.parent} of the file for the trace does not exist: make it")
        self.path, self._part = path, path.with_name(f".{path.name}.part")
        self.full, self.events, self._left = False, 0, most
        try:
            self._file = _opened(self._part, compressed=path.suffix == ".gz")
        except OSError as error:
            raise BadParameter(f"{path} cannot be written: {error.strerror}") from error
        self._write(b'{"displayTimeUnit":"ms","traceEvents":[\n')

    def add(self, **event: Any) -> None:
        """Write an event."""
        line = (b",\n" if self.events else b"") + json.dumps(event, separators=(",", ":"), allow_nan=False).encode()
        if self.full or len(line) > self._left:
            self.full = True
            return
        self._left -= len(line)
        self.events += 1
        self._write(line)

    def end(self, facts: Mapping[str, Any]) -> None:
        """Write facts about the trace, and give the file its name."""
        self._write(b'\n],"otherData":' + json.dumps(facts).encode() + b"}\n")
        try:
            self._file.close()
            self._part.rename(self.path)
        except OSError as error:
            raise self._failure(error) from error

    def drop(self) -> None:
        """Remove what was written, if it is not complete."""
        with suppress(OSError):  # what is still buffered does not fit, either
            self._file.close()
        self._part.unlink(missing_ok=True)

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> TraceFailed:
        return TraceFailed(f"{self.path} cannot be written: {error.strerror or error}; what was written is removed")


def _opened(path: Path, *, compressed: bool) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(path, "wb", COMPRESSION)) if compressed else path.open("wb")


class TraceLane(NamedTuple):
    """A lane of the trace: the numbers of its process and its thread."""

    pid: int
    tid: int


class SessionTrace:
    """Writes the answers of one session as events.

    Args:
        file: The file.
        name: The name of the session.
        origin: When the trace begins, in ns of the monotonic clock; None: when the session answers first.

    Attributes:
        after: The end of the last part, see `Tracing.part`.
        counts: How many steps of each worker were written.
        lost: Steps of workers that were overwritten before they were read.
        begun: When the trace began.
    """

    def __init__(self, file: TraceFile, name: str, origin: int | None = None) -> None:
        self._file, self._name = file, printable(name)
        self.after, self.lost, self.begun = 0.0, 0, origin
        self.counts: list[int] = []
        self._lanes: dict[str, TraceLane] = {}
        self._pid = 0
        self._ends: dict[str, int] = {}
        self._held: dict[int, WorkerSteps] = {}
        self._step, self._flows = 0, 0
        self._named: set[TraceLane] = set()
        self._first: Mapping[str, float] = {}
        self._last: Mapping[str, float] = {}
        self._spent: dict[str, float] = {}
        self._kernels, self._recorded, self._price = 0, 0.0, ""

    def add(self, part: Mapping[str, Any]) -> None:
        """Write a part.

        Raises:
            MalformedPart: It is none.
        """
        try:
            self._add(part)
        except (KeyError, TypeError, ValueError, IndexError, NoBase64, AttributeError) as error:
            raise MalformedPart(
                f"the session's answer is no part of a trace ({type(error).__name__}: {error})"
            ) from error

    def add_kernels(self, found: KernelEvents) -> None:
        """Write the kernels of each stream of a GPU, or the operators of each thread of the CPU, a lane each."""
        lanes = [TraceLane(self._pid, KERNEL_LANE + number) for number in range(len(found.lanes))]
        for lane, title in zip(lanes, found.lanes, strict=True):
            self._title(lane, process="", thread=title)
        first, last = self.begun or 0, int(1e9 * self.after)
        kept = np.flatnonzero((found.ends > first) & (found.begins < last))
        columns = (found.lane, found.name, np.maximum(found.begins, first), np.minimum(found.ends, last))
        for where, name, begin, end in zip(*(column[kept].tolist() for column in columns), strict=True):
            self._slice(lanes[where], found.names[name], begin, end, cat="copy" if found.copies[name] else "kernel")
        self._kernels, self._recorded, self._price = len(kept), (found.end - found.begin) / 1e9, found.price

    def facts(self) -> dict[str, Any]:
        """Return what the trace contains, and what the timing view says of the same time, in s by phase."""
        timing = {name: round(self._last[name] - self._first.get(name, 0.0), 6) for name in self._last}
        return {
            "session": self._name,
            "seconds": round(self.after - (self.begun or 0) / 1e9, 6),
            "timing": timing,
            "written": {name: round(spent, 6) for name, spent in self._spent.items()},
            "lost_steps": self.lost,
            "kernels": self._kernels,
            "kernel_seconds": round(self._recorded, 6),
            "cost": self._price,
        }

    def _add(self, part: Mapping[str, Any]) -> None:
        first, self._pid, self.after = not self.after, int(part["pid"]), float(part["now"])
        self.counts = list(map(int, part["counts"]))
        if self.begun is None:
            self.begun = int(1e9 * self.after)
        if first:
            self._first = dict(part["phases"])
            self._title(TraceLane(self._pid, OWN_LANE), process=f"session {self._name}", thread="training")
        self._last = dict(part["phases"])
        for lane in part["lanes"]:
            self._add_lane(lane)
        found = {worker: _unpacked(one) for worker, one in enumerate(part["workers"])}
        for worker, one in found.items():
            self._hold(worker, one)
        self._add_steps([int(pid) for pid in part["pids"]])
        ts = self._us(int(1e9 * self.after))
        for name, value in part["counters"].items():
            self._file.add(ph="C", name=printable(str(name)), ts=ts, pid=self._pid, args={"value": float(value)})

    def _add_lane(self, lane: Mapping[str, Any]) -> None:
        name, pid = printable(str(lane["name"])), int(lane["pid"])
        here = self._lanes.setdefault(name, TraceLane(pid, OWN_LANE + len(self._lanes)))
        self._title(here, process=name, thread=name)
        phases = [printable(str(phase)) for phase in lane["phases"]]
        times = _numbers(lane["times"]).reshape(-1, 2).tolist()
        last = self._ends.get(name, self.begun or 0)
        for (begin, end), phase in zip(times, _numbers(lane["phase"]).tolist(), strict=True):
            begun = max(begin, last)  # a phase that was not over may have been written
            if end > begun:
                if phases[phase] not in OWN_PHASES:
                    self._slice(here, phases[phase], begun, end, cat="phase")
                if name == "training":
                    self._spent[phases[phase]] = self._spent.get(phases[phase], 0.0) + (end - begun) / 1e9
                last = end
        self._ends[name] = last

    def _hold(self, worker: int, one: WorkerSteps) -> None:
        before = self._held.get(worker)
        if before is not None:
            self.lost += max(0, one.first - before.first - len(before.names))
        new = one.begins >= (self.begun or 0)
        kept = WorkerSteps(one.lo, one.first, *(column[new] for column in one[2:]))
        if before is not None and len(before.names):
            columns = (np.concatenate(pair) for pair in zip(before[2:], kept[2:], strict=True))
            kept = WorkerSteps(one.lo, one.first, *columns)
        self._held[worker] = kept._replace(first=one.first + len(one.names) - len(kept.names))

    def _add_steps(self, pids: Sequence[int]) -> None:
        """Write the steps that all workers have done."""
        moving = [one for one in self._held.values() if len(one.names)]
        if not moving:
            return
        full = any(len(one.names) > MOST_HELD for one in moving)
        limit = (
            max(one.names[-1] for one in moving)
            if full
            else min(one.names[-1] for one in self._held.values() if len(one.names))
        )
        if len(moving) < len(self._held) and not full:
            return
        done = {}
        for worker, one in self._held.items():
            here = int(np.searchsorted(one.names, limit, "right"))
            done[worker] = WorkerSteps(one.lo, one.first, *(column[:here] for column in one[2:]))
            self._held[worker] = WorkerSteps(one.lo, one.first + here, *(column[here:] for column in one[2:]))
        waits = WaitCounter().add([*done.values()])
        ends = np.rint(1e9 * waits["end"]).astype(np.int64)
        names = _common(done.values())
        by_name = dict(zip(names.tolist(), zip(ends.tolist(), waits.tolist(), strict=True), strict=True))
        for worker, one in done.items():
            self._add_worker(worker, one, pids, by_name)
        self._add_ends(waits, ends)

    def _add_worker(
        self, worker: int, one: WorkerSteps, pids: Sequence[int], by_name: Mapping[int, tuple[int, tuple[Any, ...]]]
    ) -> None:
        pid = pids[worker] if worker < len(pids) and pids[worker] else self._pid
        here = TraceLane(pid, WORKER_LANE + worker)
        title = f"worker {worker + 1}" if pid != self._pid else "environments"
        self._title(here, process=title, thread=title)
        begins, ends = one.begins.tolist(), one.ends.tolist()
        following = [*begins[1:], None]
        for row, (name, begin, end, after) in enumerate(zip(one.names.tolist(), begins, ends, following, strict=True)):
            self._slice(here, "step", begin, end, cat=ENVIRONMENT)
            if one.env_begins.shape[1] and one.env_begins[row, 0]:
                times = zip(one.env_begins[row].tolist(), one.env_ends[row].tolist(), strict=True)
                for env, (env_begin, env_end) in enumerate(times, one.lo + 1):
                    self._slice(here, f"environment {env}", env_begin, min(env_end, end), cat=ENVIRONMENT)
            last, wait = by_name.get(name, (0, ()))
            if wait and wait[0] != worker:
                waited = last if after is None else min(last, after)
                if waited > end:
                    self._slice(here, f"wait for worker {wait[0] + 1}", end, waited, cat="wait")
            elif wait and pid != self._pid:
                self._flows += 1
                flow = {"name": "last to arrive", "cat": "wait", "id": self._flows}
                self._file.add(ph="s", ts=self._us(end - 1), **here._asdict(), **flow)
                self._file.add(ph="f", bp="e", ts=self._us(end), pid=self._pid, tid=OWN_LANE, **flow)

    def _add_ends(self, waits: NDArray[np.void], ends: NDArray[np.int64]) -> None:
        """Write when each step ended, and who was the last."""
        if not len(ends):
            return
        lane = TraceLane(self._pid, STEPS_LANE)
        self._title(lane, process="", thread="steps")
        first = self._step or int(ends[0])
        for (begin, end), wait in zip(pairwise([first, *ends.tolist()]), waits, strict=True):
            if end > begin:
                who = {"last worker": int(wait["worker"]) + 1, "late_us": round(1e6 * float(wait["late"]), 3)}
                if wait["env"] >= 0:
                    slowest = {"slowest environment": int(wait["env"]) + 1}
                    who |= {**slowest, "its_us": round(1e6 * float(wait["seconds"]), 3)}
                self._slice(lane, "step", begin, end, cat="step", args=who)
        self._step = int(ends[-1])

    def _slice(self, lane: TraceLane, name: str, begin: int, end: int, **more: Any) -> None:
        ts, until = self._us(begin), self._us(end)
        self._file.add(ph="X", name=name, ts=ts, dur=round(until - ts, 3), **lane._asdict(), **more)

    def _title(self, lane: TraceLane, *, process: str, thread: str) -> None:
        """Name a lane, and its process if that has no name yet."""
        if lane in self._named:
            return
        if process and all(named.pid != lane.pid for named in self._named):
            self._file.add(ph="M", name="process_name", pid=lane.pid, tid=0, args={"name": process})
        self._named.add(lane)
        self._file.add(ph="M", name="thread_name", **lane._asdict(), args={"name": thread})
        self._file.add(ph="M", name="thread_sort_index", **lane._asdict(), args={"sort_index": lane.tid})

    def _us(self, when: int) -> float:
        return (when - (self.begun or 0)) / 1000


def _common(found: Any) -> NDArray[np.int64]:
    names = [one.names for one in found if len(one.names)]
    common: NDArray[np.int64] = names[0]
    for other in names[1:]:
        common = np.intersect1d(common, other)
    return common


def _numbers(text: str) -> NDArray[np.int64]:
    return np.frombuffer(b64decode(text, validate=True), "<i8")


def _unpacked(one: Mapping[str, Any]) -> WorkerSteps:
    names, begins, ends, timed = (_numbers(one[name]) for name in ("names", "begins", "ends", "timed"))
    width = int(one["environments"])
    rows = []
    for name in ("env_begins", "env_ends"):
        all_rows = np.zeros((len(names), width), np.int64)
        all_rows[timed] = _numbers(one[name]).reshape(-1, width)
        rows.append(all_rows)
    return WorkerSteps(int(one["lo"]), int(one["first"]), names, begins, ends, *rows)
