"""The errors of backends.

PacError
├── BadParameter
│   └── BadAction             an action out of range, or of the wrong shape or type
└── BackendError
    ├── BackendClosed         the backend was closed
    ├── BackendBusy           a call while a step is pending, or without one
    ├── BackendUnavailable    it cannot run here, and no other backend was allowed
    ├── BackendTimeout        no answer within the time limit
    └── BackendBroken         a worker or server failed
        ├── LayoutMismatch    a segment of another task, size or version
        ├── ProtocolError     frames that the protocol does not allow
        └── WorkerFailed      a worker failed while starting, or too often
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

from ...envs import BadParameter, PacError


class BadAction(BadParameter):
    """An action out of range, or actions of the wrong shape or type."""

    title = "Bad action"


class BackendError(PacError):
    """An error of a backend."""

    title = "Backend error"


class BackendClosed(BackendError):
    """The backend was closed."""

    title = "Backend is closed"


class BackendBusy(BackendError):
    """A call while a step is pending, or without one."""

    title = "Backend is busy"


class BackendUnavailable(BackendError):
    """The backend cannot run this task on this machine."""

    title = "Backend is not available"


class BackendTimeout(BackendError, TimeoutError):
    """No answer within the time limit; the step is still pending."""

    title = "No answer in time"


class BackendBroken(BackendError):
    """A worker or server failed."""

    title = "Backend is broken"


class LayoutMismatch(BackendBroken):
    """A segment whose magic number, version, size or fields differ."""

    title = "Segment does not match"


class ProtocolError(BackendBroken):
    """A frame that the protocol does not allow, or not at this point.

    Attributes:
        code: Its number in an ERROR frame.
    """

    title = "Protocol error"

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def ending(code: int) -> str:
    """Return how a process ended, for a message."""
    if code >= 0:
        return f"exit code {code}"
    names = {int(one): one.name for one in signal.Signals}
    return f"killed by {names.get(-code, f'signal {-code}')}"


@dataclass(frozen=True)
class Failure:
    """What is known about a worker's failure.

    Attributes:
        worker: Its index.
        lo: Its first environment.
        hi: One past its last environment.
        reason: What happened, such as `killed by SIGKILL` or `ValueError: bad card`.
        seed: The run's seed.
        step: Steps that the worker had finished.
        environment: The environment that failed, if known.
        action: Its last action, if known.
        traceback: The original traceback, as text.
        output: The end of what the worker printed.
    """

    worker: int
    lo: int
    hi: int
    reason: str
    seed: int = 0
    step: int = 0
    environment: int | None = None
    action: Any = None
    traceback: str = ""
    output: str = ""

    def summary(self) -> str:
        """Return one sentence with worker, environment and reason, counted from 1."""
        where = f"environments {self.lo + 1}..{self.hi}"
        if self.environment is not None:
            where = f"environment {self.environment + 1}, seed {self.seed}, action {self.action}"
        return f"worker {self.worker + 1} ({where}) failed after {self.step:,} steps: {self.reason}"

    def report(self) -> str:
        """Return the summary, the traceback and the output."""
        parts = [self.summary()]
        if self.traceback:
            parts.append(self.traceback.rstrip())
        if self.output:
            parts.append(f"Its last output:\n{self.output.rstrip()}")
        return "\n".join(parts)


class WorkerFailed(BackendBroken):
    """A worker failed while starting, or too often; `failure` has the details."""

    title = "A worker failed"

    def __init__(self, failure: Failure, advice: str) -> None:
        self.failure = failure
        super().__init__(f"{failure.report()}\n{advice}")
