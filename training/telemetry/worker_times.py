"""When workers and their environments stepped of late, and who was waited for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...backends.core.spans import WorkerSteps
from ...envs.fields import Array
from .records import MAX_SLOW, MAX_SPANS, MAX_WAITS, SLOW, SPAN, WAIT

if TYPE_CHECKING:
    from .blocks import TelemetryReader, TelemetryWriter

KEPT = 20
"""Observations over which it is counted who was waited for: 10 s."""
BY_WORKER = 4
"""Workers among those that are waited for most; the others are environments."""


class Slow(NamedTuple):
    """A worker or an environment that is waited for; the other one's number is -1.

    Attributes:
        steps: In how many of the last steps it was the last.
        of: How many these are.
        seconds: Its median time in these steps.
        usual: The median time of all workers, or of all environments.
    """

    worker: int
    env: int
    steps: int
    of: int
    seconds: float
    usual: float

    @property
    def share(self) -> float:
        """The share of the steps in which it was the last."""
        return self.steps / max(1, self.of)


@dataclass(frozen=True)
class WorkerTimes:
    """The last steps as viewers see them.

    Attributes:
        spans: A record `SPAN` per worker, and per environment where these were timed, of each step.
        waits: A record `WAIT` per step, oldest first.
        slow: Who is waited for most often, workers and environments.
    """

    spans: Array
    waits: Array
    slow: tuple[Slow, ...]

    @classmethod
    def read(cls, reader: TelemetryReader) -> WorkerTimes:
        """Return what the session has published."""
        spans, waits, slow = map(reader.read, ("spans", "waits", "slow"))
        return cls(
            spans[spans["end"] > 0],
            waits[waits["end"] > 0],
            tuple(Slow(**SLOW.get(row)) for row in slow[slow["steps"] > 0]),
        )


class _Chunk(NamedTuple):
    """Steps that were seen at once: the last workers, the slowest environments, and times of all, in s."""

    workers: NDArray[np.int64]
    worker_seconds: NDArray[np.float64]
    all_workers: NDArray[np.float64]
    envs: NDArray[np.int64]
    env_seconds: NDArray[np.float64]
    all_envs: NDArray[np.float64]


class WaitCounter:
    """Finds out of the steps of all workers who was waited for."""

    def __init__(self) -> None:
        self._chunks: deque[_Chunk] = deque(maxlen=KEPT)

    def add(self, found: Sequence[WorkerSteps]) -> Array:
        """Count steps of all workers, and return a record `WAIT` for each that is known of all of them."""
        found = [one for one in found if len(one.names)]
        if not found:
            return np.zeros(0, WAIT.dtype)
        names = reduce(np.intersect1d, (one.names for one in found))
        places = [np.searchsorted(one.names, names) for one in found]
        ends = np.stack([one.ends[at] for one, at in zip(found, places, strict=True)], axis=1)
        spent = np.stack([(one.ends - one.begins)[at] for one, at in zip(found, places, strict=True)], axis=1)
        last = ends.argmax(axis=1)
        rows = np.arange(len(names))
        waits = np.zeros(len(names), WAIT.dtype)
        waits["worker"], waits["end"], waits["env"] = last, ends[rows, last] / 1e9, -1
        if len(found) > 1:
            sorted_ends = np.sort(ends, axis=1)
            waits["late"] = (sorted_ends[:, -1] - sorted_ends[:, -2]) / 1e9
        everything = []
        for number, (one, at) in enumerate(zip(found, places, strict=True)):
            timed = one.env_begins[at][:, 0] > 0
            seconds = (one.env_ends[at] - one.env_begins[at]) / 1e9
            everything.append(seconds[timed].reshape(-1))
            mine = timed & (last == number)
            waits["env"][mine] = one.lo + seconds[mine].argmax(axis=1)
            waits["seconds"][mine] = seconds[mine].max(axis=1, initial=0)
        known = waits[waits["env"] >= 0]
        several = slice(None) if len(found) > 1 else slice(0)  # one worker waits for nobody
        self._chunks.append(
            _Chunk(
                last[several],
                spent[rows, last][several] / 1e9,
                spent.reshape(-1)[several] / 1e9,
                known["env"].astype(np.int64),
                known["seconds"],
                np.concatenate(everything),
            )
        )
        return waits

    def slow(self) -> list[Slow]:
        """Return who was waited for most often."""
        if not self._chunks:
            return []
        workers, worker_seconds, all_workers, envs, env_seconds, all_envs = map(
            np.concatenate, zip(*self._chunks, strict=True)
        )
        by_worker = [
            Slow(worker=key, env=-1, steps=steps, of=len(workers), seconds=seconds, usual=float(np.median(all_workers)))
            for key, steps, seconds in _most(workers, worker_seconds, BY_WORKER)
        ]
        by_env = [
            Slow(worker=-1, env=key, steps=steps, of=len(envs), seconds=seconds, usual=float(np.median(all_envs)))
            for key, steps, seconds in _most(envs, env_seconds, MAX_SLOW - BY_WORKER)
        ]
        return [*by_env, *by_worker]


def _most(keys: NDArray[np.int64], seconds: NDArray[np.float64], count: int) -> list[tuple[int, int, float]]:
    """Return the most frequent of some numbers, how often each occurs, and the median of its seconds."""
    if not len(keys):
        return []
    counts = np.bincount(keys)
    most = [key for key in np.argsort(-counts, kind="stable")[:count].tolist() if counts[key]]
    return [(key, int(counts[key]), float(np.median(seconds[keys == key]))) for key in most]


def spans_of(found: Sequence[WorkerSteps]) -> Array:
    """Return records `SPAN` of as many of the last steps as there is room for."""
    each = len(found) + sum(one.env_begins.shape[1] for one in found)
    most = max(1, min(MAX_WAITS, MAX_SPANS // max(1, each)))
    parts = []
    for number, one in enumerate(found):
        steps = slice(-most, None)
        parts.append(_spans(number, -1, one.begins[steps], one.ends[steps]))
        begins, ends = one.env_begins[steps], one.env_ends[steps]
        timed = begins[:, 0] > 0 if begins.size else np.zeros(0, np.bool_)
        envs = np.broadcast_to(one.lo + np.arange(begins.shape[1]), begins.shape)
        parts.append(_spans(number, envs[timed].reshape(-1), begins[timed].reshape(-1), ends[timed].reshape(-1)))
    return np.concatenate(parts)[:MAX_SPANS] if parts else np.zeros(0, SPAN.dtype)


def _spans(worker: int, env: object, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> Array:
    spans = np.zeros(len(begins), SPAN.dtype)
    spans["worker"], spans["env"], spans["begin"], spans["end"] = worker, env, begins / 1e9, ends / 1e9
    return spans


def write_times(writer: TelemetryWriter, spans: Array, waits: Array, slow: Sequence[Slow]) -> None:
    """Publish the last steps."""
    for name, rows in (("spans", spans), ("waits", waits[-MAX_WAITS:])):
        with writer.write(name) as block:
            block[: len(rows)] = rows
            block["end"][len(rows) :] = 0
    with writer.write("slow") as block:
        block["steps"] = 0
        for row, one in zip(block, slow, strict=False):
            SLOW.put(row, one._asdict())
