"""Which numbers the records of a segment may contain. `TelemetryReader.read` checks every record here.

Segments also come from other machines and from killed sessions. What uses a record does not check it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...backends.core.status import EnvStatus
from ...envs import PacError
from ...envs.fields import Array
from . import records
from .moments import MAX_STEPS_BACK, TRUNCATED, MomentSource

if TYPE_CHECKING:
    from .description import Description

MOST_SECONDS = 1e11
"""Of times since the epoch or since the start of the machine: 3,000 years."""


class Range(NamedTuple):
    """The smallest and the largest value of a number, and whether it may be NaN, which is unknown."""

    low: float
    high: float
    nan: bool = False


ANY = Range(-inf, inf, nan=True)
AMOUNT = Range(-1e18, 1e18)
TIME = Range(0, MOST_SECONDS)
SHARE = Range(0, 1, nan=True)
FLAG = Range(0, 1)
FROM_0, FROM_NONE = Range(0, inf), Range(-1, inf)


class DamagedTelemetry(PacError):
    """A block contains what no session writes."""

    title = "Damaged telemetry"


def _of(kind: type[IntEnum]) -> Range:
    return Range(min(kind), max(kind))


def _all(kind: Range, *names: str) -> dict[str, Range]:
    return dict.fromkeys(names, kind)


MOMENT: Mapping[str, Range] = {
    **_all(ANY, "env", "seat", "step", "now", "episode", "episode_length", "episode_return", "frames", "reward"),
    **_all(ANY, "value", "action", "next_action", "observation", "mask", "reward_terms", "terms", "info"),
    "source": _of(MomentSource),
    "progress": SHARE,
    "end": Range(0, TRUNCATED),
    **_all(FLAG, "begun", "acted", "decided", "full"),
}
RANGES: Mapping[str, Mapping[str, Range]] = {
    "state": {
        "phase": _of(records.Phase),
        **_all(ANY, "num_envs", "target_envs", "steps", "frames", "episodes", "iterations", "fps", "sps", "speed"),
        **_all(ANY, "credits", "baseline", "return_mean", "length_mean"),
        **_all(TIME, "started", "now", "training_seconds"),
        **_all(SHARE, "progress", "limit"),
    },
    "times": _all(AMOUNT, *(records.TIMES.names or ())),
    "system": {
        **_all(ANY, "cores", "cpu", "cpu_machine", "rss", "memory", "memory_used", "shm"),
        **_all(ANY, "gpus", "gpu", "vram", "vram_total"),
        "learning": FLAG,
        "pulse": TIME,
    },
    "environments": {
        **_all(ANY, "episode", "episode_return", "episode_length", "last_return", "last_length", "action", "reward"),
        **_all(ANY, "frames", "worker"),
        "ended": TIME,
        "status": _of(EnvStatus),
        "notice": _of(records.Notice),
        "recording": Range(0, records.RECORDING),
    },
    "episodes": {
        **_all(ANY, "number", "ret", "length"),
        **_all(FROM_0, "env", "episode"),
        "end": Range(0, TRUNCATED),
        "time": TIME,
    },
    "policy": {
        **_all(ANY, "env", "seat", "value", "entropy", "actions", "probabilities", "means", "deviations", "values"),
        **_all(ANY, "ranges", "epsilon"),
        **_all(Range(0, records.TOP_ACTIONS), "count", "valued", "ranged"),
        "numbers": Range(0, records.MAX_ACTION_NUMBERS),
    },
    "processes": {
        **_all(ANY, "index", "pid", "first_env", "end_env", "count", "restarts", "rss"),
        **_all(AMOUNT._replace(nan=True), "rate", "heartbeat", "cpu"),
    },
    "timeline": {
        **_all(ANY, "pid"),
        "count": Range(0, records.MAX_LAPS),
        "phase": Range(0, records.MAX_PHASES - 1),
        **_all(TIME, "begin", "end"),
    },
    "events": {"number": ANY, "time": TIME, "level": _of(records.Level), "env": FROM_NONE},
    "audience": _all(ANY, "viewers", "controller"),
    "scaling": {**_all(ANY, "num_envs", "samples"), **_all(AMOUNT, "fps", "low", "high", "seconds")},
    "breakpoints": {**_all(ANY, "number", "hits"), "on": FLAG, "env": FROM_NONE},
    "line": {
        **_all(ANY, "env", "seat", "now", "rewards"),
        "count": Range(0, MAX_STEPS_BACK),
        "ends": Range(0, TRUNCATED),
    },
    "moment": MOMENT,
    "detail": MOMENT,
}
"""The range of each number, by block and field: limited if it counts or indexes something, ANY if it is only shown."""
OUTCOMES = {"environments": "last_outcome", "episodes": "outcome", "moment": "outcome", "detail": "outcome"}
"""The fields that are 0, or 1 + an index into the outcomes of the description."""


def ranges_of(about: Description) -> dict[str, Mapping[str, Range]]:
    """Return the ranges of the fields that have a limit, by block."""
    outcomes = {block: {field: Range(0, len(about.outcomes))} for block, field in OUTCOMES.items()}
    return {
        block: {field: each for field, each in {**ranges, **outcomes.get(block, {})}.items() if each != ANY}
        for block, ranges in RANGES.items()
    }


def check_record(block: str, found: Array, ranges: Mapping[str, Range]) -> None:
    """Check what was read of a block of records.

    Raises:
        DamagedTelemetry: A field is outside of its range.
    """
    for field, (low, high, nan) in ranges.items():
        values = found[field]
        outside = ~((values >= low) & (values <= high))
        if nan and values.dtype.kind == "f":
            outside &= ~np.isnan(values)
        if outside.any():
            given = np.asarray(values)[outside].flat[0]
            raise DamagedTelemetry(f"{block} has the {field} {given}, expected {low:g} to {high:g}")
