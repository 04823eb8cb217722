"""What a rule is: a kind of problem, and how it is measured.

A rule is declared once, by a decorator of the function that measures it; the list of rules, the page
`docs/diagnosis.md`, the JSON and the screen follow from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..telemetry.records import Severity
from .evidence import Evidence

SESSION, ENVIRONMENTS, LEARNING, SPEED = "session", "environments", "learning", "speed"
GROUPS = (SESSION, ENVIRONMENTS, LEARNING, SPEED)


class Measured(NamedTuple):
    """What a rule has measured.

    Attributes:
        value: Compared with the threshold.
        numbers: What else the rule's sentence names.
        env: The environment that shows it, from 0; -1 without one.
        curve: The name of the metric that shows it; empty without one.
        advice: What to try, instead of the rule's own advice.
        severity: How grave it is, instead of the rule's own severity.
    """

    value: float
    numbers: Mapping[str, object] = {}
    env: int = -1
    curve: str = ""
    advice: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A kind of problem.

    Attributes:
        id: Its name.
        group: What has the problem.
        severity: How grave it is; with `escalates`, one grade more in a training that does not learn.
        definition: When it is a problem, in a sentence.
        sentence: Names the problem, with fields in braces: `value`, `threshold` and the measured numbers.
        why: Why it matters.
        advice: What to try.
        threshold: The value beyond which it is a problem.
        below: Whether it is one below the threshold, not above.
        unit: Of the threshold, for people.
        source: Where the threshold comes from.
        needs: How much must be known before it is measured.
        measure: Yields what it has measured, the gravest first; nothing if its data are not known.
    """

    id: str
    group: str
    severity: Severity
    escalates: bool = False
    definition: str
    sentence: str
    why: str
    advice: str
    threshold: float
    below: bool = False
    unit: str = ""
    source: str
    needs: str
    measure: Callable[[Evidence], Iterable[Measured]] = field(repr=False)

    def found(self, evidence: Evidence, tolerance: float) -> Measured | None:
        """Return the first measured value that is beyond the threshold, which a `tolerance` above 1 moves away."""
        return next((one for one in self.measure(evidence) if self.beyond(one.value, tolerance)), None)

    def beyond(self, value: float, tolerance: float) -> bool:
        """Return whether a value is beyond the threshold."""
        limit = self.limit(tolerance)
        return value < limit if self.below else value > limit

    def limit(self, tolerance: float) -> float:
        """Return the threshold with a tolerance above 0."""
        return self.threshold / tolerance if self.below else self.threshold * tolerance


DECLARED: dict[str, Rule] = {}
"""The rules of all modules that were imported, by their names."""


def rule(
    name: str,
    group: str,
    severity: Severity,
    *,
    sentence: str,
    why: str,
    advice: str,
    source: str,
    needs: str,
    threshold: float = 0.0,
    below: bool = False,
    unit: str = "",
    escalates: bool = False,
) -> Callable[[Callable[[Evidence], Iterable[Measured]]], Callable[[Evidence], Iterable[Measured]]]:
    """Declare a rule by the function that measures it, whose docstring is the rule's definition."""

    def declare(measure: Callable[[Evidence], Iterable[Measured]]) -> Callable[[Evidence], Iterable[Measured]]:
        DECLARED[name] = Rule(
            id=name,
            group=group,
            severity=severity,
            escalates=escalates,
            definition=(measure.__doc__ or "").strip(),
            sentence=sentence,
            why=why,
            advice=advice,
            threshold=threshold,
            below=below,
            unit=unit,
            source=source,
            needs=needs,
            measure=measure,
        )
        return measure

    return declare
