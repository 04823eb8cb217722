"""The command `pac-tui diagnose`."""

import json

import pytest

from pac.training.diagnosis.of_run import FOUND
from pac.training.runs.folder import RunFolder
from pac.training.telemetry.findings import Finding
from pac.training.telemetry.records import Severity
from pac.tui.cli.commands import main

FINDING = Finding(1, "reward-scale", Severity.NOTE, "rewards are about 250", "scale them", 250.0, 100.0, 900, 50.0)
WORSE = Finding(2, "entropy-collapse", Severity.WARNING, "entropy has collapsed", "raise it", 0.1, 0.15, 1200, 60.0)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run that was killed."""
    monkeypatch.setenv("PAC_WATCHED_RUNS", "")
    return RunFolder.create(tmp_path, "one")


def diagnosed(run, capsys):
    assert main(["diagnose", "one", "--runs-dir", str(run.path.parent), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["findings"]


def test_the_findings_of_a_run_are_those_of_its_files(run, capsys):
    """The gravest first, with why they matter."""
    run.write_initial_metadata({"id": "one", FOUND: [FINDING.as_json(), WORSE.as_json()]})
    found = diagnosed(run, capsys)
    assert [(one["rule"], one["severity"], one["step"]) for one in found] == [
        ("entropy-collapse", "warning", 1200),
        ("reward-scale", "note", 900),
    ]
    assert all(one["why"] and one["advice"] for one in found)
    main(["diagnose", "one", "--runs-dir", str(run.path.parent)])
    assert "entropy has collapsed" in capsys.readouterr().out
    main(["runs", "show", "one", "--runs-dir", str(run.path.parent)])
    assert "warning: entropy has collapsed" in capsys.readouterr().out


def test_a_run_that_was_not_diagnosed_is_diagnosed_by_its_metrics(run, capsys):
    """As runs of earlier versions."""
    run.write_initial_metadata({"id": "one"})
    for step in range(60):
        run.append_metrics({"steps": 1000 * step, "seconds": step, "loss/entropy": 2.0 if step < 30 else 0.01})
    assert [(one["rule"], one["step"]) for one in diagnosed(run, capsys)] == [("entropy-collapse", 38_000)]


def test_what_is_no_finding_in_a_file_is_left_out(run, capsys):
    """Files may come from anywhere."""
    run.write_initial_metadata({"id": "one", FOUND: [1, {"rule": 3}, {**FINDING.as_json(), "severity": "awful"}]})
    assert not diagnosed(run, capsys)
    main(["diagnose", "one", "--runs-dir", str(run.path.parent)])
    assert "nothing was found" in capsys.readouterr().out
