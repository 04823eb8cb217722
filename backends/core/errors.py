"""The errors of backends, by whose move it is to mend them.

PacError
├── BadParameter
│   └── BadAction             an action out of range, or of the wrong shape or type: the caller sent it
└── BackendError
    ├── BackendClosed         the caller closed it
    ├── BackendBusy           the caller called out of turn: a step is pending, or none is
    ├── BackendUnavailable    it cannot run here, and nothing else was allowed
    ├── BackendTimeout        no answer within the time limit
    └── BackendBroken         the other side failed
        ├── LayoutMismatch    a segment that this version does not understand
        ├── ProtocolError     frames that the protocol does not have, or not at this point
        └── WorkerFailed      a worker failed at its start, or too often
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

from ...envs import BadParameter, PacError


class BadAction(BadParameter):
    """An action out of range, or actions of the wrong shape or type."""

    title = "Bad action"


class BackendError(PacError):
    """Something went wrong between the caller and the environments."""

    title = "Backend error"


class BackendClosed(BackendError):
    """The backend was closed by its owner."""

    title = "Backend is closed"


class BackendBusy(BackendError):
    """A call out of turn: while a step is pending, or without one."""

    title = "Backend is busy"


class BackendUnavailable(BackendError):
    """The backend cannot run this task on this machine."""

    title = "Backend is not available"


class BackendTimeout(BackendError, TimeoutError):
    """No answer within the time limit; the step is still pending."""

    title = "No answer in time"


class BackendBroken(BackendError):
    """The other side failed, not the caller."""

    title = "Backend is broken"


class LayoutMismatch(BackendBroken):
    """A segment of another magic number, version, size or list of fields."""

    title = "Segment not understood"


class ProtocolError(BackendBroken):
    """A frame that the protocol does not have, or not at this point.

    Attributes:
        code: The number that an ERROR frame says it by.
    """

    title = "Protocol error"

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def ending(code: int) -> str:
    """Return how a process ended, by its exit code, in words."""
    if code >= 0:
        return f"exit code {code}"
    names = {int(one): one.name for one in signal.Signals}
    return f"killed by {names.get(-code, f'signal {-code}')}"


@dataclass(frozen=True)
class Failure:
    """What is known of a worker's failure.

    Attributes:
        worker: Its index.
        lo: Its first environment.
        hi: One past its last environment.
        reason: What happened, such as `killed by SIGKILL` or `ValueError: bad card`.
        seed: The run's seed.
        step: Steps that the worker had finished.
        environment: The environment that failed, where that is known.
        action: Its last action, where that is known.
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
    action: int | list[float] | None = None
    traceback: str = ""
    output: str = ""

    def summary(self) -> str:
        """Return one sentence: who, where, what; people count from 1."""
        where = f"environments {self.lo + 1}..{self.hi}"
        if self.environment is not None:
            where = f"environment {self.environment + 1}, seed {self.seed}, action {self.action}"
        return f"worker {self.worker + 1} ({where}) failed after {self.step:,} steps: {self.reason}"

    def report(self) -> str:
        """Return everything that is known, on several lines."""
        parts = [self.summary()]
        if self.traceback:
            parts.append(self.traceback.rstrip())
        if self.output:
            parts.append(f"The end of its output:\n{self.output.rstrip()}")
        return "\n".join(parts)


class WorkerFailed(BackendBroken):
    """A worker failed at its start, or too often; `failure` says what is known."""

    title = "A worker failed"

    def __init__(self, failure: Failure, advice: str) -> None:
        self.failure = failure
        super().__init__(f"{failure.report()}\n{advice}")
