"""The worker function of the `shm` backend: it steps a slice of the environments on request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...envs import PacError, find
from ...envs.spaces.drawing import BUDGET
from ...envs.task import Savable, transformed
from ..core.layout import Layout
from ..core.spans import Ring, StepTimes
from ..system.segment import Segment
from .control import ARGUMENT, CLOSE, LOAD, REFUSED, RESEED, RESET, SAVE, TIMED, Link
from .worker import report


def serve(link: Link, arguments: Mapping[str, Any]) -> None:
    """Step environments `arguments["lo"]..arguments["hi"]` of the segment `arguments["segment"]` until `CLOSE`."""
    task = transformed(find(arguments["spec"]), arguments["transform"])
    lo, hi = arguments["lo"], arguments["hi"]
    slots, ring, rollouts = (arguments[name] for name in ("slots", "ring", "rollouts"))
    layout = Layout(task, arguments["num_envs"], slots, ring=ring, rollouts=rollouts)
    segment = Segment.attach(Path(arguments["segment"]), writable=True)
    buffer = layout.map(segment.map)
    chosen = np.frombuffer(segment.map, np.bool_, hi - lo, layout.size + lo)
    if not task.shared:  # tables may be large
        task.prepare()
    environments = task.make(lo, hi, buffer, arguments["seed"])
    step, times = environments.step, None
    ring = Ring(memoryview(segment.map)[arguments["rings"] :], arguments["spans"], link.index)
    if arguments["cores"]:
        link.pin_to(arguments["cores"][link.index])
    BUDGET.on_picture = link.note_picture
    link.ready()
    while (command := link.receive()) != CLOSE:
        begun = time.monotonic_ns()
        try:
            if command < RESET:
                step(command)
            elif command < RESEED:
                environments.reset(chosen, command & ARGUMENT)
            elif command >= TIMED:
                if times is None:
                    times = StepTimes(environments, ring)
                times.step(command & ARGUMENT, link.ticket)
            elif command >= LOAD:
                cast("Savable", environments).load(command & ARGUMENT)
            elif command >= SAVE:
                cast("Savable", environments).save(command & ARGUMENT)
            else:
                environments.close()
                environments = task.make(lo, hi, buffer, link.seed)
                step, times = environments.step, None
        except PacError as error:
            # An invalid value is the caller's error, so the worker continues.
            if not isinstance(error, ValueError):
                raise
            report(Path(arguments["report"]), error)
            link.set_state(REFUSED)
            continue
        link.reply(begun, int(command < RESET or command >= TIMED))
    environments.close()
