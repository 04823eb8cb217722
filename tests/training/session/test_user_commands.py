"""Commands of the user's that run when findings begin and when the session ends."""

import json

from pac.training.session import user_commands
from pac.training.session.user_commands import UserCommands
from pac.training.telemetry.events import EventLog
from pac.training.telemetry.findings import Finding
from pac.training.telemetry.records import Severity

from ..watched import run_here

FACTS = {"run": "/runs/one"}


def finding(number, severity=Severity.WARNING, value=0.5):
    return Finding(number, "reward-scale", severity, f"finding {number}", "scale them", value, 0.1, 7, 100.0)


def finished(commands):
    """End the commands, and say how often they were waited for."""
    waited = []
    commands.end({**FACTS, "state": "completed"}, lambda: waited.append(1))
    return waited


def test_each_warning_and_fault_runs_the_command_with_its_json(tmp_path):
    """Notes do not; the end has a command of its own, which runs last."""
    events = EventLog()
    commands = UserCommands(events, f"cat >> {tmp_path}/found; echo >> {tmp_path}/found", f"cat > {tmp_path}/end")
    commands.found(finding(1, Severity.NOTE), FACTS)
    commands.found(finding(2, value=float("nan")), FACTS)
    commands.found(finding(3, Severity.FAULT), FACTS)
    assert finished(commands)
    found = [json.loads(line) for line in (tmp_path / "found").read_text().splitlines()]
    assert [(one["run"], one["number"], one["severity"], one["value"]) for one in found] == [
        ("/runs/one", 2, "warning", None),
        ("/runs/one", 3, "fault", 0.5),
    ]
    assert json.loads((tmp_path / "end").read_text()) == {"run": "/runs/one", "state": "completed"}
    assert not events.count


def test_a_command_that_fails_or_hangs_is_an_event(monkeypatch):
    """What it printed is in it; one that takes too long is ended with all that it has started."""
    monkeypatch.setattr(user_commands, "LIMIT", 0.2)
    events = EventLog()
    commands = UserCommands(events, "echo no topic >&2; exit 3", "sleep 1000 & sleep 1000")
    commands.found(finding(1), FACTS)
    finished(commands)
    texts = [text for *_, text in events.recent]
    assert "failed with code 3: no topic" in texts[0]
    assert "took more than" in texts[1]


def test_a_session_runs_the_command_for_its_end(tmp_path):
    """It gets the run, how it ended, its counters and its findings."""
    run_here(
        tmp_path, task="noop:length=32", trainer="random", backend="inline", steps=2000, on_end=f"cat > {tmp_path}/end"
    )
    facts = json.loads((tmp_path / "end").read_text())
    assert (facts["state"], facts["findings"] is not None, facts["steps"] >= 2000) == ("completed", True, True)
