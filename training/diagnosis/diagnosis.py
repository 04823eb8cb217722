"""Follows the findings of a training: which problems it has, since when, and which it had."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...envs.printable import LINES, printable
from ..telemetry.findings import Finding
from ..telemetry.records import MAX_FINDINGS, Severity
from .all_rules import RULES
from .budget import Budget
from .evidence import Evidence
from .rules import SESSION, Measured, Rule

QUIET_SECONDS = 60.0
"""Seconds of training without the problem, after which a finding has ended."""
PERIOD, MAX_SHARE = 1.0, 0.0004
"""Seconds between two checks, and the largest share of the CPU time for them."""
log = logging.getLogger(__name__)


class Diagnosis:
    """The findings of a training; used by the training thread.

    Attributes:
        evidence: What is known of the training.
        on_begin: Called with a finding that has begun or become graver.
        findings: Those that last, and the last ones that have ended, in the order in which they began.
        marked: Environments with a problem, until their episode ends.
        tolerances: By how much less sensitive rules are than usual, by their names or groups; 0 mutes them. Any thread
            may replace it.
        budget: Says when to check the rules next.
    """

    def __init__(self) -> None:
        self.evidence = Evidence()
        self.on_begin: Callable[[Finding], None] = lambda _finding: None
        self.findings: tuple[Finding, ...] = ()
        self.marked: set[int] = set()
        self.tolerances: Mapping[str, float] = {}
        self.budget = Budget(MAX_SHARE, PERIOD)
        self._count = 0
        self._seen: dict[str, float] = {}  # when each problem was there last, in s of training
        self._broken: set[str] = set()
        # Other threads append; the training thread takes from the left. Both are atomic.
        self._reported: deque[tuple[str, str, int]] = deque()

    def report(self, name: str, text: str, env: int = -1) -> bool:
        """Report a problem of a rule that does not measure; any thread may. Return whether it has begun."""
        lasts = any(one.rule == name and one.lasts for one in self.findings)
        begins = not lasts and all(reported != name for reported, *_ in self._reported.copy())
        self._reported.append((name, text, env))
        self.budget.hurry()
        return begins

    def check(self, now: float) -> None:
        """Check all rules; `now` in s of training."""
        self.budget.begin()
        evidence = self.evidence
        while self._reported:
            name, text, env = self._reported.popleft()
            evidence.reported[name] = text, env
        with np.errstate(all="ignore"):
            for rule in RULES.values():
                self._follow(rule, self._found(rule), now)
        evidence.forget_moment()
        self.budget.end()

    def _found(self, rule: Rule) -> tuple[Measured, str] | None:
        """Return what a rule finds, and its sentence; one that fails is not asked again: the training is to go on."""
        tolerance = self.tolerances.get(rule.id, self.tolerances.get(rule.group, 1.0))
        if not tolerance or rule.id in self._broken:
            return None
        try:
            measured = rule.found(self.evidence, tolerance)
            if measured is None:
                return None
            numbers = {"value": measured.value, "threshold": rule.threshold, **measured.numbers}
            return measured, printable(rule.sentence.format(**numbers), LINES)
        except Exception:
            self._broken.add(rule.id)
            log.debug("the rule %s failed", rule.id, exc_info=True)
            return None

    def _follow(self, rule: Rule, finds: tuple[Measured, str] | None, now: float) -> None:
        index = next((index for index, one in enumerate(self.findings) if one.rule == rule.id and one.lasts), None)
        if finds is None:
            if index is not None and now - self._seen[rule.id] > QUIET_SECONDS:
                self._put(index, replace(self.findings[index], ended=time.time()))
            return
        self._seen[rule.id] = now
        measured, text = finds
        severity = measured.severity
        if severity is None:
            severity = Severity(min(Severity.FAULT, rule.severity + (rule.escalates and self.evidence.stuck)))
        self._count += index is None
        found = Finding(
            number=self._count,
            rule=rule.id,
            severity=severity,
            text=text,
            advice=measured.advice or rule.advice,
            value=measured.value,
            threshold=rule.threshold,
            step=self.evidence.steps,
            began=time.time(),
            env=measured.env,
            curve=measured.curve,
        )
        before = None if index is None else self.findings[index]
        if before is not None:
            found = replace(found, number=before.number, step=before.step, began=before.began)
            if not self.evidence.improved:  # what seemed to hold a training up may turn out not to
                found = replace(found, severity=max(before.severity, severity))
        self._put(index, found)
        if rule.group != SESSION and (before is None or found.severity > before.severity):
            self.on_begin(found)

    def _put(self, index: int | None, finding: Finding) -> None:
        kept = list(self.findings)
        if index is None:
            kept.append(finding)
        else:
            kept[index] = finding
        if len(kept) > MAX_FINDINGS:
            kept.remove(next((one for one in kept if not one.lasts), kept[0]))
        self.findings = tuple(kept)

    @property
    def alarms(self) -> list[str]:
        """The sentences of all findings that are not only notes, in order."""
        return [one.text for one in self.findings if one.severity > Severity.NOTE]

    def reset(self) -> None:
        """Forget single environments, because they are replaced."""
        self.marked.clear()
        self.evidence.stepped.resize()
