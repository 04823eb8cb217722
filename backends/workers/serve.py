"""The worker function of the `shm` backend: it steps a slice of the environments on request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...envs import PacError, Task, allocate, find
from ...envs.actions import random_actions
from ...envs.task import Savable, transformed
from ..core.layout import Layout
from ..system.segment import Segment
from .control import ARGUMENT, CLOSE, LOAD, REFUSED, RESEED, RESET, SAVE, Link
from .worker import report


def warm_up(task: Task) -> None:
    """Step once in private memory, so that kernels are loaded before the others wait for this worker."""
    buffers = allocate(task, 1, 2)
    environments = task.make(0, 1, buffers, 0)
    environments.reset(np.ones(1, np.bool_), 0)
    legal = None
    if task.masked:
        legal = np.unpackbits(buffers["action_mask"][0], axis=-1, count=task.num_actions, bitorder="little").view(
            np.bool_
        )
    buffers["action"][0] = random_actions(task, np.random.default_rng(0), task.players, legal)
    environments.step(0)
    environments.close()


def serve(link: Link, arguments: Mapping[str, Any]) -> None:
    """Step environments `arguments["lo"]..arguments["hi"]` of the segment `arguments["segment"]` until `CLOSE`."""
    task, lo, hi = transformed(find(arguments["spec"]), arguments["transform"]), arguments["lo"], arguments["hi"]
    layout = Layout(task, arguments["num_envs"], arguments["slots"])
    segment = Segment.attach(Path(arguments["segment"]), writable=True)
    buffer = layout.map(segment.map)
    chosen = np.frombuffer(segment.map, np.bool_, hi - lo, layout.size + lo)
    if task.native and not task.shared:  # tables may be large
        warm_up(task)
    environments = task.make(lo, hi, buffer, arguments["seed"])
    step = environments.step
    if arguments["core"] is not None:
        link.pin_to(arguments["core"])
    link.ready()
    while (order := link.receive()) != CLOSE:
        begun = time.monotonic_ns()
        try:
            if order < RESET:
                step(order)
            elif order < RESEED:
                environments.reset(chosen, order & ARGUMENT)
            elif order >= LOAD:
                cast("Savable", environments).load(order & ARGUMENT)
            elif order >= SAVE:
                cast("Savable", environments).save(order & ARGUMENT)
            else:
                environments.close()
                environments = task.make(lo, hi, buffer, link.seed)
                step = environments.step
        except PacError as error:
            # An invalid value is the caller's error, so the worker continues.
            if not isinstance(error, ValueError):
                raise
            report(Path(arguments["report"]), error)
            link.set_state(REFUSED)
            continue
        link.reply(begun, int(order < RESET))
    environments.close()
