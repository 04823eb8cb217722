"""Findings: what is wrong with a training, as viewers see it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

import numpy as np

from ...envs.fields import Array
from .records import FINDING, Level, Severity


@dataclass(frozen=True)
class Finding:
    """A problem of a training, from its beginning to its end.

    Attributes:
        number: From 1, in the order in which they began.
        rule: The name of the rule that it breaks.
        severity: How grave it is.
        text: A sentence that names the problem, with its numbers.
        advice: What to try.
        value: What was measured last while it lasted.
        threshold: Beyond which it is a problem.
        step: The environment step at which it began, all environments together.
        began: When it began, in s since the epoch.
        ended: When it ended; 0 while it lasts.
        env: The environment that shows it, from 0; -1 without one.
        curve: The name of the metric that shows it; empty without one.
    """

    number: int
    rule: str
    severity: Severity
    text: str
    advice: str
    value: float
    threshold: float
    step: int
    began: float
    ended: float = 0.0
    env: int = -1
    curve: str = ""

    @property
    def lasts(self) -> bool:
        """Whether the problem is still there."""
        return not self.ended

    @property
    def level(self) -> Level:
        """The level of its event."""
        return (Level.INFO, Level.WARNING, Level.ERROR)[self.severity]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        value = self.value if isfinite(self.value) else None
        return {**asdict(self), "value": value, "severity": self.severity.name.lower(), "ended": self.ended or None}


def finding_of(data: Any) -> Finding | None:
    """Return a finding from JSON data that a file contains; None if they are none."""
    try:
        known = {field.name: data[field.name] for field in fields(Finding)}
        severity = Severity[str(known["severity"]).upper()]
        texts = {name: str(known[name]) for name in ("rule", "text", "advice", "curve")}
        whole = {name: int(known[name]) for name in ("number", "step", "env")}
        real = {name: float(known[name] or 0.0) for name in ("value", "threshold", "began", "ended")}
        values: dict[str, Any] = {**texts, **whole, **real, "severity": severity}
        return Finding(**values)
    except (KeyError, TypeError, ValueError):
        return None


def gravest_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings that last before those that have ended, and grave ones before others."""
    return sorted(findings, key=lambda one: (not one.lasts, -one.severity, -(one.ended or one.number)))


def write_findings(block: Array, findings: Iterable[Finding]) -> None:
    """Write findings into their block."""
    block[:] = np.zeros((), block.dtype)
    for row, finding in zip(block, findings, strict=False):
        FINDING.put(row, asdict(finding))


def read_findings(block: Array) -> tuple[Finding, ...]:
    """Return the findings of a block."""
    known = [FINDING.get(row) for row in block if row["number"]]
    return tuple(Finding(**{**values, "severity": Severity(values["severity"])}) for values in known)
