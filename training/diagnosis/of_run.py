"""The findings of a run in its files: those that were found while it ran, or what its metrics say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..runs.folder import RunFolder
from ..runs.metrics import FINDING
from ..telemetry.findings import Finding, finding_of
from .diagnosis import Diagnosis

FOUND = "findings"
"""What a run's metadata call the findings."""


class FindingLines:
    """Makes the lines of a run's metrics that say that a finding begins, becomes graver or ends."""

    def __init__(self) -> None:
        self._known: dict[int, Finding] = {}

    def take(self, findings: Iterable[Finding], totals: Mapping[str, Any], seconds: float) -> list[dict[str, Any]]:
        """Return the lines about what has changed since the last call.

        Args:
            findings: All findings.
            totals: What was counted so far.
            seconds: Seconds of training so far.
        """
        lines = []
        for finding in findings:
            before = self._known.get(finding.number)
            self._known[finding.number] = finding
            if before is None:
                change = "begins"
            elif before.lasts and not finding.lasts:
                change = "ends"
            elif finding.severity > before.severity:
                change = "becomes graver"
            else:
                continue
            when = {"steps": totals.get("steps"), "seconds": round(seconds, 3)}
            lines.append({FINDING: finding.as_json(), "change": change, **when})
        return lines


def findings_of(run: RunFolder) -> tuple[Finding, ...]:
    """Return the findings of a run; of one that was not diagnosed, those that follow from its metrics.

    `run.json` has those of the last session, if that was not killed, and the metrics have those of all.
    """
    recorded = run.metadata().get(FOUND)
    if not isinstance(recorded, list):
        return found_in(run.metrics())
    known = [finding_of(data) for data in (*run.recorded_findings(), *recorded)]
    newest = {(found.rule, found.began): found for found in known if found is not None}
    return tuple(sorted(newest.values(), key=lambda found: found.began))


def found_in(rows: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Return the findings that follow from the lines of a run's metrics."""
    diagnosis = Diagnosis()
    for row in rows:
        metrics = {name: float(value) for name, value in row.items() if isinstance(value, int | float)}
        diagnosis.evidence.log(metrics, int(metrics.get("steps", 0)), every=True)
        diagnosis.check(metrics.get("seconds", 0.0))
    return diagnosis.findings
