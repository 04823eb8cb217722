"""What a session has answered about kernels of its GPU, or operators on the CPU, checked: how the time is shared."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..envs.printable import printable
from .profile import Malformed

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class KernelEvents:
    """Kernels with memory copies, or operators, in the order of their begin.

    Attributes:
        pid: The process.
        device: Where the training computes: `cpu`, or a GPU as PyTorch calls it.
        begin: The begin of the recording, in ns of the monotonic clock.
        end: Its end.
        lanes: The streams or threads.
        names: What they are called.
        copies: Which of these names copy memory.
        lane: The number of the lane of each.
        name: The number of the name of each.
        begins: When each began.
        ends: When each ended.
        lost: How many more there were, after the end.
        before: Steps per second before; NaN if unknown.
        during: Steps per second meanwhile.
        held: Seconds for which starting and stopping the profiler held the training.
    """

    pid: int
    device: str
    begin: int
    end: int
    lanes: Sequence[str]
    names: Sequence[str]
    copies: NDArray[np.bool_]
    lane: Whole
    name: Whole
    begins: Whole
    ends: Whole
    lost: int
    before: float
    during: float
    held: float

    @property
    def gpu(self) -> bool:
        """Whether these are kernels; else they are operators on the CPU."""
        return self.device != "cpu"

    @property
    def price(self) -> str:
        """What recording has cost, as a sentence."""
        before = f", {self.before:,.0f} before" if self.before == self.before else ""
        return (
            f"{self.during:,.0f} steps/s while PyTorch's profiler was on{before}; "
            f"starting and stopping it held the training for {self.held:.2f} s"
        )


class KernelTime(NamedTuple):
    """A kernel or operator: how often it ran, and its seconds without what it called."""

    name: str
    runs: int
    seconds: float
    share: float


@dataclass(frozen=True)
class KernelUse:
    """How the time is shared.

    Attributes:
        seconds: How long was recorded.
        computes: The share in which at least one kernel or operator ran.
        copies: The share in which memory was copied, and nothing computed.
        waits: The rest.
        gaps: How often it began to wait.
        gap: The median length of these, in s; NaN without one.
        kernels: By their time, the largest first.
    """

    seconds: float
    computes: float
    copies: float
    waits: float
    gaps: int
    gap: float
    kernels: Sequence[KernelTime]


def kernel_events(answer: Mapping[str, Any]) -> KernelEvents:
    """Return what a session has answered to `kernels`.

    Raises:
        Malformed: It is not such an answer.
    """
    try:
        lanes, names = ([*answer[key]] for key in ("lanes", "names"))
        which, times = (np.frombuffer(b64decode(answer[key], validate=True), "<i8") for key in ("which", "times"))
        begins, ends = times.reshape(len(which), 2).T
        begin, end = int(answer["begin"]), int(answer["end"])
        _check(which, 0, len(lanes) * len(names) - 1)
        _check(begins, begin, end)
        _check(ends - begins, 0, end - begin)
        _check(ends, begin, end)
        _check(np.array([begin]), 0, end - 1)
        before = answer["before"]
        return KernelEvents(
            pid=int(answer["pid"]),
            device=printable(str(answer["device"])),
            begin=begin,
            end=end,
            lanes=[printable(str(one)) for one in lanes],
            names=[printable(str(text)) for text, _ in names],
            copies=np.array([bool(copies) for _, copies in names], np.bool_),
            lane=which // max(1, len(names)),
            name=which % max(1, len(names)),
            begins=begins,
            ends=ends,
            lost=int(answer["lost"]),
            before=float("nan") if before is None else float(before),
            during=float(answer["during"]),
            held=float(answer["held"]),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, NoBase64) as error:
        raise Malformed(f"the session's answer cannot be read: {type(error).__name__}: {error}") from error


def kernel_use(found: KernelEvents) -> KernelUse:
    """Return how the time of a recording is shared."""
    total = found.end - found.begin
    busy = _union(found.begins, found.ends)
    computing = ~found.copies[found.name]
    computes = _length(_union(found.begins[computing], found.ends[computing]))
    edges = np.concatenate([[found.begin], busy.ravel(), [found.end]]).reshape(-1, 2)
    gaps = (edges[:, 1] - edges[:, 0])[edges[:, 1] > edges[:, 0]]
    own, size = _own_times(found), len(found.names)
    sums = np.bincount(found.name, own, size)
    counts = np.bincount(found.name, minlength=size)
    order = np.argsort(-sums, kind="stable")
    return KernelUse(
        seconds=total / 1e9,
        computes=computes / total,
        copies=(_length(busy) - computes) / total,
        waits=1 - _length(busy) / total,
        gaps=len(gaps),
        gap=float(np.median(gaps)) / 1e9 if len(gaps) else float("nan"),
        kernels=[
            KernelTime(found.names[k], int(counts[k]), float(sums[k]) / 1e9, float(sums[k]) / total) for k in order
        ],
    )


def _check(numbers: Whole, least: int, most: int) -> None:
    if len(numbers) and not least <= numbers.min() <= numbers.max() <= most:
        raise ValueError("a number is out of range")


def _union(begins: Whole, ends: Whole) -> Whole:
    """Return the begins and ends of the times in which at least one runs; they are in the order of their begins."""
    if not len(begins):
        return np.zeros((0, 2), np.int64)
    until = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.concatenate([[True], begins[1:] > until[:-1]]))
    return np.stack([begins[first], until[np.concatenate([first[1:] - 1, [len(begins) - 1]])]], 1)


def _length(times: Whole) -> int:
    return int((times[:, 1] - times[:, 0]).sum())


def _own_times(found: KernelEvents) -> NDArray[np.float64]:
    """Return the ns of each without those of the same lane within it, as operators call others."""
    own = (found.ends - found.begins).tolist()
    begins, ends = found.begins.tolist(), found.ends.tolist()
    lanes = found.lane.tolist()
    around: dict[int, list[int]] = {}
    for each in np.lexsort((-found.ends, found.begins)).tolist():
        above = around.setdefault(lanes[each], [])
        while above and ends[above[-1]] <= begins[each]:
            above.pop()
        if above:
            own[above[-1]] -= max(0, min(ends[each], ends[above[-1]]) - begins[each])
        above.append(each)
    return np.array(own, np.float64)
