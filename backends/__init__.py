"""How N environments are stepped: `make` gives a backend, a Gymnasium vector environment over one buffer."""

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
from .factory import BACKENDS, backend_names, make
from .system.cores import default_num_envs, usable_cores
from .system.segment import SharedMemoryFull, UnsafeDirectory

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
