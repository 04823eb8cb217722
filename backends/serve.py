"""The worker function of the `shm` backend: it steps a slice of the environments when told to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..envs import PacError, find
from .control import ARGUMENT, CLOSE, REFUSED, RESEED, RESET, Link
from .layout import Layout
from .segment import Segment
from .worker import report


def serve(link: Link, told: Mapping[str, Any]) -> None:
    """Step environments `told["lo"]..told["hi"]` of the segment `told["segment"]` until told to close."""
    task, lo, hi = find(told["spec"]), told["lo"], told["hi"]
    layout = Layout(task, told["num_envs"], told["slots"])
    segment = Segment.attach(Path(told["segment"]), writable=True)
    buffer = layout.map(segment.map)
    chosen = np.frombuffer(segment.map, np.bool_, hi - lo, layout.size + lo)
    environments = task.make(lo, hi, buffer, told["seed"])
    step = environments.step
    link.ready()
    while (order := link.receive()) != CLOSE:
        begun = time.monotonic_ns()
        try:
            if order < RESET:
                step(order)
            elif order < RESEED:
                environments.reset(chosen, order & ARGUMENT)
            else:
                environments.close()
                environments = task.make(lo, hi, buffer, link.seed)
                step = environments.step
        except PacError as error:
            # A value that does not fit is the caller's mistake, not the worker's end.
            if not isinstance(error, ValueError):
                raise
            report(Path(told["report"]), error)
            link.trouble(REFUSED)
            continue
        link.reply(begun, int(order < RESET))
    environments.close()
