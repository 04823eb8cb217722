"""The curves of a run on disk, as the telemetry has those of a session."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ...envs.unknown import UNKNOWN, unknown_in
from ..telemetry.metric_history import COUNTER_NAMES
from ..telemetry.metric_names import split_metric_name
from ..telemetry.segment_layout import MAX_HISTORY, MAX_METRICS
from ..telemetry.snapshot import Curve
from . import metrics

AXES = ("steps", "seconds", "frames")


def read_curves(folder: Path) -> dict[str, Curve]:
    """Return the curves of a run by name, of about as many points as those of a session; empty without metrics.

    Raises:
        RunFolderError: The metrics cannot be read.
    """
    rows = metrics.sample(folder, MAX_HISTORY).rows
    names = dict.fromkeys(name for row in rows for name in row if name not in COUNTER_NAMES)
    with np.errstate(over="ignore"):
        axes = {axis: np.array([row.get(axis, UNKNOWN) for row in rows], "f4") for axis in AXES}
        found = {}
        for name in list(names)[:MAX_METRICS]:
            values = np.array([row.get(name, UNKNOWN) for row in rows], "f4")
            too_large = np.isinf(values) & [math.isfinite(row.get(name, UNKNOWN)) for row in rows]
            known = ~(unknown_in(values) | too_large)
            points = {axis: column[known] for axis, column in axes.items()}
            found[name] = Curve(name, split_metric_name(name)[0], values=values[known], **points)
    return found
