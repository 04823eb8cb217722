"""OpenMP, whose threads run the parallel loops of compiled games."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from threading import Thread
from typing import Any, cast

WAITING = "OMP_WAIT_POLICY", "passive"
"""The environment variable for how OpenMP's threads wait, and its value. OpenMP reads it when it is loaded.

Threads that spin use up their time, and are then not scheduled when they have work: on busy cores, a step of 0.1 ms
took 5 ms.
"""
LAYER = "omp"
"""Numba's threading layer. Numba's own, `workqueue`, aborts the process if two threads run parallel loops."""


@cache
def unavailable() -> str:
    """Return why a parallel loop cannot run here, or an empty string; loads OpenMP."""
    name, value = WAITING
    set_before = name in os.environ
    os.environ.setdefault(name, value)
    try:
        import_module("numba.np.ufunc.omppool")
    except ImportError as error:
        return f"Numba found no OpenMP: {error}"
    finally:
        if not set_before:
            del os.environ[name]
    return ""


@cache
def start_threads() -> None:
    """Start the threads of parallel loops, from a thread of its own.

    Numba sets OpenMP's number of threads for the thread that starts them. PyTorch, which may use the same OpenMP, would
    use as many in that thread from then on.

    Raises:
        RuntimeError: There is no OpenMP.
    """
    from numba import config, get_num_threads

    if reason := unavailable():
        raise RuntimeError(reason)
    cast("Any", config).THREADING_LAYER = LAYER
    starter = Thread(target=get_num_threads)
    starter.start()
    starter.join()
