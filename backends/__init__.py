"""How N environments are stepped: `make` gives a backend, a Gymnasium vector environment over one buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .core.errors import (
    BackendBroken,
    BackendBusy,
    BackendClosed,
    BackendError,
    BackendTimeout,
    BackendUnavailable,
    BadAction,
    Failure,
    LayoutMismatch,
    ProtocolError,
    WorkerFailed,
)
from .core.memory import TooManyEnvironments
from .core.status import BackendEvent, WorkerState, WorkerStatus
from .system.cores import default_num_envs, usable_cores
from .system.segment import SharedMemoryFull, UnsafeDirectory

if TYPE_CHECKING:
    from .factory import BACKENDS, backend_names, make

LAZY = frozenset({"BACKENDS", "backend_names", "make"})
"""What needs Gymnasium. It is imported when it is used, since a watched script may have none, or an old one."""

__all__ = [
    "BACKENDS",
    "BackendBroken",
    "BackendBusy",
    "BackendClosed",
    "BackendError",
    "BackendEvent",
    "BackendTimeout",
    "BackendUnavailable",
    "BadAction",
    "Failure",
    "LayoutMismatch",
    "ProtocolError",
    "SharedMemoryFull",
    "TooManyEnvironments",
    "UnsafeDirectory",
    "WorkerFailed",
    "WorkerState",
    "WorkerStatus",
    "backend_names",
    "default_num_envs",
    "make",
    "usable_cores",
]


def __getattr__(name: str) -> Any:
    if name in LAZY:
        from . import factory

        return getattr(factory, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
