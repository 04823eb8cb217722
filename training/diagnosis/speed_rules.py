"""Rules about speed: where the time goes, and what has changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from statistics import median

import numpy as np

from ..telemetry.records import Severity
from .evidence import Evidence
from .rules import SPEED, Measured, rule

SLOW_WINDOWS, LASTING = 3, 15
"""Windows that must be slow for a note, and for a warning."""
SLOW = 0.2
NOISE = 0.05
"""The share of all windows that may be as slow without a finding: other programs use the machine, too."""
MIN_WINDOWS = 30
"""A minute; before that, a short disturbance would be a finding."""
BUSY = 1.2
"""Programs that want to run, per core, from which on they are named."""


@rule(
    "throughput-fell",
    SPEED,
    Severity.WARNING,
    sentence="throughput is {fps:,.0f}/s, {value:.0%} below the median of {usual:,.0f}/s{busy}",
    why="The same training takes longer than it did.",
    advice="look at the timing (key t) for the phase that grew, and at `top` for other programs",
    threshold=SLOW,
    unit="below the median, in 3 windows of 2 s",
    source="our measurement: and below all but the slowest 5 % of the windows",
    needs="30 windows at the present N, a minute; a note only while other programs use the cores, or for 30 s",
)
def throughput_fell(evidence: Evidence) -> Iterator[Measured]:
    """The fps of the last windows are below the median of all windows, and below nearly all others."""
    windows = evidence.windows
    if len(windows) >= MIN_WINDOWS:
        fps, usual = max(windows[-SLOW_WINDOWS:]), median(windows)
        lasting = max(windows[-LASTING:]) < usual * (1 - SLOW)
        noisy = float(np.quantile(windows[:-SLOW_WINDOWS], NOISE))
        if fps < noisy:
            text = busy(os.getloadavg()[0], os.cpu_count() or 1)
            severity = Severity.WARNING if lasting and not text else Severity.NOTE
            yield Measured(1 - fps / usual, {"fps": fps, "usual": usual, "busy": text}, curve="fps", severity=severity)


def busy(load: float, cores: int) -> str:
    """Return that many programs use the machine, if so."""
    return f"; {load:.0f} programs want to run on {cores} cores" if load > BUSY * cores else ""
