"""Plays the same games on every backend and compares all bytes of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....backends.core.base import Backend
from ....backends.core.errors import BackendUnavailable
from ....backends.factory import BACKENDS, make
from ....envs import BadParameter, Task, find
from ....envs.fields import Array
from ..facts import Results
from .rates import RandomLegal

REFERENCE = "inline"
HASH_BYTES = 16


def compare_traces(
    spec: str = "autochess",
    *,
    games: int = 100,
    num_envs: int = 8,
    seed: int = 0,
    backends: Sequence[str] = (),
    progress: Callable[[str, float], None] = lambda _what, _share: None,
) -> Results:
    """Step every backend with the same random legal actions until `games` games have ended.

    All fields of a step are compared (observation, mask, reward and its terms, terminated, truncated, frames, outcome,
    return, length, info) and, if an episode ended, its final observation.

    Args:
        spec: The task.
        num_envs: Number of environments N.
        seed: Seed of the games and of the actions.
        backends: Their names; if empty, all that can run the task here. The reference is always included.
        progress: Called with the share that is done.

    Returns:
        `rows`: `transport`, `hash` and whether it is `identical`; `difference`: None, or the first one's `transport`,
        `environment`, `step` and `field`; the compared `games`, `steps` and `bytes`; `absent`: the reasons of backends
        that cannot run this task here.

    Raises:
        BadParameter: There are no games to compare.
        BackendUnavailable: One of `backends` cannot run the task.
    """
    if games < 1:
        raise BadParameter(f"the number of games must be at least 1, got {games}")
    task = find(spec)
    task.prepare()
    absent: dict[str, str] = {}
    with ExitStack() as stack:
        traces = []
        for name in dict.fromkeys((REFERENCE, *(backends or BACKENDS))):
            try:
                envs = stack.enter_context(closing(make(task, num_envs, name, seed=seed, strict=True)))
            except BackendUnavailable as error:
                if backends:
                    raise
                absent[name] = str(error)
            else:
                traces.append(Trace(task, envs))
        steps, played, difference = _play(
            traces, games, RandomLegal(task, num_envs * task.players, seed=seed), progress
        )
    rows = [
        {"transport": trace.envs.name, "hash": trace.hash.hexdigest(), "identical": trace.same(traces[0])}
        for trace in traces
    ]
    return {
        "task": spec,
        "seed": seed,
        "num_envs": num_envs,
        "games": played,
        "steps": steps,
        "bytes": traces[0].bytes,
        "rows": rows,
        "difference": difference,
        "absent": absent,
    }


def _play(
    traces: Sequence[Trace], games: int, choose: RandomLegal, progress: Callable[[str, float], None]
) -> tuple[int, int, Results | None]:
    """Play until `games` have ended or something differs; return steps, games and the first difference."""
    reference = traces[0].envs
    for trace in traces:
        trace.envs.start()
    steps = played = 0
    while (difference := _look(traces, steps)) is None and played < games:
        choose(reference, 0)
        for trace in traces:
            trace.envs.buffer["action"][0] = reference.buffer["action"][0]
            trace.envs.advance(0)
        steps += 1
        played = int(reference.buffer["episode"].sum())
        progress(f"{played} of {games} games", min(1.0, played / games))
    return steps, played, difference


def _look(traces: Sequence[Trace], step: int) -> Results | None:
    """Add the current step to all traces; return the first difference from the reference."""
    for trace in traces:
        trace.add()
    for trace in traces[1:]:
        if not trace.same(traces[0]):
            return {"transport": trace.envs.name, "step": step, **trace.difference(traces[0])}
    return None


class Trace:
    """The results of one backend so far.

    Attributes:
        hash: Hash of all bytes so far.
    """

    def __init__(self, task: Task, envs: Backend) -> None:
        self.envs = envs
        self.hash: Any = blake2b(digest_size=HASH_BYTES)
        self.bytes = 0
        self._players = task.players
        self._fields = [item for item in task.fields if item.timed or item.name == "episode"]
        self._step: dict[str, Array] = {}

    def add(self) -> None:
        """Add the current step."""
        buffer = self.envs.buffer
        self._step = {item.name: buffer[item.name][0] for item in self._fields}
        # Without the end of an episode, the field is undefined.
        ended = (self._step["terminated"] | self._step["truncated"]) > 0
        self._step["final_observation"] = self._step["final_observation"][ended]
        for values in self._step.values():
            self.hash.update(np.ascontiguousarray(values))
            self.bytes += values.nbytes

    def same(self, other: Trace) -> bool:
        """Whether both have the same bytes so far."""
        return bool(self.hash.digest() == other.hash.digest())

    def difference(self, other: Trace) -> Results:
        """Return the field and the environment of the first difference in the current step."""
        for item in self._fields:
            rows = np.flatnonzero((self.row_bytes(item.name) != other.row_bytes(item.name)).any(axis=1))
            if len(rows):
                return {"field": item.name, "environment": int(rows[0]) // (self._players if item.per == "seat" else 1)}
        raise AssertionError("traces differ in no field of the step at which their hashes parted")

    def row_bytes(self, name: str) -> NDArray[np.uint8]:
        values = np.ascontiguousarray(self._step[name])
        return values.reshape(len(values), -1).view(np.uint8)
