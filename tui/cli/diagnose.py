"""The command `pac-tui diagnose`."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from ...training.diagnosis.all_rules import RULES
from ...training.diagnosis.of_run import findings_of
from ...training.runs.folder import RunFolder
from ...training.runs.sessions import sessions
from ...training.telemetry.findings import Finding, gravest_first
from ...training.telemetry.records import Severity
from ..drawing.numbers import whole
from .show import console, listed, show_json, show_table

STYLES = {Severity.NOTE: "dim", Severity.WARNING: "bold yellow", Severity.FAULT: "bold red"}


def diagnose_run(name: str, runs_dir: Path, *, json: bool) -> int:
    """Print what was found wrong with a run, the gravest first, and what to try."""
    run = RunFolder.find(runs_dir, name)
    findings = gravest_first(_live(run) or findings_of(run))
    if json:
        return show_json({"run": run.name, "findings": [_with_reason(found) for found in findings]})
    if not findings:
        console.print(f"{run.name}: nothing was found. docs/diagnosis.md lists what is checked.", markup=False)
        return 0
    table = listed("", "")
    for found in findings:
        facts = _with_reason(found)
        body = Text(found.text, style="bold")
        body.append(f"\n{found.rule}, since step {whole(found.step)}", style="dim")
        for word in ("why", "advice"):
            if facts[word]:
                body.append(f"\n{facts[word]}", style="italic" if word == "advice" else "")
        table.add_row(Text(found.severity.name.lower(), style=STYLES[found.severity]), body)
    show_table(table)
    return 0


def _live(run: RunFolder) -> tuple[Finding, ...]:
    """Return the findings of the session that trains a run, or is a script; none if none does."""
    folder = str(run.path.resolve())
    found = (one.snapshot for one in sessions() if one.alive and one.snapshot.description.folder == folder)
    return next((snapshot.findings for snapshot in found), ())


def _with_reason(found: Finding) -> dict[str, object]:
    """Return a finding as JSON data, with why it matters."""
    rule = RULES.get(found.rule)
    return {**found.as_json(), "why": rule.why if rule is not None else "", "unit": rule.unit if rule else ""}
