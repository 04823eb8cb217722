"""The findings of a run from its files: those that were found while it ran, or what its metrics say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..runs.folder import RunFolder
from ..telemetry.findings import Finding, finding_of
from .diagnosis import Diagnosis

FOUND = "findings"
"""What a run's metadata call the findings."""


def findings_of(run: RunFolder) -> tuple[Finding, ...]:
    """Return the findings of a run; of one that was not diagnosed, those that follow from its metrics."""
    recorded = run.metadata().get(FOUND)
    if isinstance(recorded, list):
        return tuple(filter(None, map(finding_of, recorded)))
    return found_in(run.metrics())


def found_in(rows: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Return the findings that follow from the lines of a run's metrics."""
    diagnosis = Diagnosis()
    for row in rows:
        metrics = {name: float(value) for name, value in row.items() if isinstance(value, int | float)}
        diagnosis.evidence.log(metrics, int(metrics.get("steps", 0)), every=True)
        diagnosis.check(metrics.get("seconds", 0.0))
    return diagnosis.findings
