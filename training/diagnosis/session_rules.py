"""Rules about the training as a whole, whose findings are reported by what meets the problem."""

from __future__ import annotations

from collections.abc import Iterator

from ..telemetry.records import Severity
from .evidence import Evidence
from .rules import SESSION, Measured, rule

WORKER_FAILED, CHECKPOINT_NOT_WRITTEN, RUN_NOT_WRITTEN = "worker-failed", "checkpoint-not-written", "run-not-written"


@rule(
    WORKER_FAILED,
    SESSION,
    Severity.WARNING,
    sentence="{text}",
    why="Its environments begin anew, and what they were doing is lost.",
    advice="read the worker's output (key o); an environment that crashes often does so for the same action or seed",
    source="a worker answers or does not",
    needs="workers",
)
def worker_failed(evidence: Evidence) -> Iterator[Measured]:
    """A worker hung or died, and is being replaced."""
    return _reported(evidence, WORKER_FAILED)


@rule(
    CHECKPOINT_NOT_WRITTEN,
    SESSION,
    Severity.FAULT,
    sentence="{text}",
    why="What is learned from now on cannot be resumed after a crash.",
    advice="make room on the disk, or free it from limits; the session tries again",
    source="a file can be written or cannot",
    needs="a run folder",
)
def checkpoint_not_written(evidence: Evidence) -> Iterator[Measured]:
    """A checkpoint cannot be written."""
    return _reported(evidence, CHECKPOINT_NOT_WRITTEN)


@rule(
    RUN_NOT_WRITTEN,
    SESSION,
    Severity.FAULT,
    sentence="{text}",
    why="Curves and files of this time will be missing from the run.",
    advice="make room on the disk, or free it from limits; the training continues without the file",
    source="a file can be written or cannot",
    needs="a run folder",
)
def run_not_written(evidence: Evidence) -> Iterator[Measured]:
    """The metrics or `run.json` cannot be written."""
    return _reported(evidence, RUN_NOT_WRITTEN)


def _reported(evidence: Evidence, name: str) -> Iterator[Measured]:
    if name in evidence.reported:
        text, env = evidence.reported[name]
        yield Measured(1.0, {"text": text}, env)
