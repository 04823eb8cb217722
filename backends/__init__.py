"""How N environments are stepped: `make` gives a backend, a Gymnasium vector environment over one buffer."""

from .cores import default_num_envs, usable_cores
from .errors import (
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
from .factory import BACKENDS, make
from .memory import TooManyEnvironments
from .segment import SharedMemoryFull, UnsafeDirectory
from .status import BackendEvent, WorkerState, WorkerStatus

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
    "default_num_envs",
    "make",
    "usable_cores",
]
