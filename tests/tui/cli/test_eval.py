"""`pac-tui eval` of solver runs."""

from __future__ import annotations

import json
import sys
from io import StringIO

import pytest
from rich.console import Console

from pac.tui.cli import eval as cli_eval
from pac.tui.cli.commands import main
from pac.tui.terminal.output import PrintableStream
from pac.tui.terminal.progress import progress_bar

from ...training.mccfr.solved import solved


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in a directory with one run, with a wide console."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli_eval, "console", Console(highlight=False, width=160))
    solved(tmp_path / "runs")


def test_a_small_game_is_measured_exactly(capsys):
    """The output has the winnings, NashConv and the exploitability."""
    assert main(["eval", "small", "--against", "call"]) == 0
    out = capsys.readouterr().out
    assert "small: kuhn after 50 iterations" in out
    won, nash_conv, exploitability = (line.split() for line in out.splitlines()[2:5])
    assert won[:3] == ["winnings", "against", "call"]
    assert float(won[3]) > 0
    assert float(exploitability[-4]) == pytest.approx(float(nash_conv[-4]) / 2, abs=1e-6)


@pytest.mark.thorough
def test_it_is_one_json_object(capsys, tmp_path):
    """stdout is one JSON object, which names a damaged checkpoint."""
    damaged = tmp_path / "runs" / "small" / "checkpoints" / "step-000000000099"
    damaged.mkdir()
    (damaged / "checkpoint.json").write_text("{}")
    assert main(["eval", "small", "--resolve", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["resolved"]
    assert damaged.name in found["skipped"][0]
    assert found["nash_conv"] > 0
    assert found["won"]["hands"] == found["hands_played"] == 0
    assert found["hands_requested"] == cli_eval.RESOLVED_HANDS


def test_settings_of_the_resolver(capsys):
    """A setting of the resolver implies --resolve; an unknown setting is an error."""
    assert main(["eval", "small", "--resolver.policy-blend-alpha", "0", "--json"]) == 0
    blended = json.loads(capsys.readouterr().out)
    assert main(["eval", "small", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (blended["resolved"], plain["resolved"]) == (True, False)
    assert blended["nash_conv"] == pytest.approx(plain["nash_conv"])
    assert main(["eval", "small", "--resolver.deepness", "3"]) == 2
    assert "max_depth" in capsys.readouterr().err


def test_an_unknown_opponent(capsys):
    """The error about an unknown opponent lists the known ones."""
    assert main(["eval", "small", "--against", "shark"]) == 2
    assert "uniform" in capsys.readouterr().err


def test_a_policy_that_plays_episodes_has_no_opponent(capsys, tmp_path):
    """Flags for solver runs are refused for other runs."""
    card = {"config": {"task": "noop", "trainer": "ppo"}}
    (tmp_path / "runs" / "plain").mkdir()
    (tmp_path / "runs" / "plain" / "run.json").write_text(json.dumps(card))
    assert main(["eval", "plain", "--against", "call"]) == 2
    assert "solver" in capsys.readouterr().err


def test_limits_that_would_cut_episodes_are_refused(capsys, tmp_path):
    """A measurement plays episodes to their end."""
    card = {"config": {"task": "noop", "trainer": "ppo"}}
    (tmp_path / "runs" / "plain").mkdir()
    (tmp_path / "runs" / "plain" / "run.json").write_text(json.dumps(card))
    assert main(["eval", "plain", "--headless", "--seconds", "3"]) == 2
    assert "--seconds would cut long episodes" in capsys.readouterr().err


def test_episodes_are_printed_best_first(capsys):
    """The middle of many is left out, and the command that replays them is quoted for the shell."""
    played = [
        {"returns": [value], "length": 7, "outcome": None, "environment": 1, "episode": value, "seed": 3}
        for value in range(1, 31)
    ]
    cli_eval._print_episodes({"played": played}, ["pac-tui", "eval", "a run", "--episodes", "30"])
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.split()[0]) for line in lines[2:-2]] == [*range(30, 20, -1), *range(10, 0, -1)]
    assert lines[-1] == "replay them: pac-tui eval 'a run' --episodes 30"


def test_the_progress_bar_is_drawn_on_a_guarded_stream(monkeypatch):
    """Its escape sequences are the program's own and are not written out; it says how much time is left."""
    stream = StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", PrintableStream(stream))
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("eval") as progress:
        progress("half", 0.5)
    shown = stream.getvalue()
    assert "\x1b[" in shown
    assert "\\x1b" not in shown
    assert "left" in shown


@pytest.mark.thorough
def test_the_help_names_the_default_numbers_of_hands(capsys):
    """The help contains the default numbers of hands."""
    assert main(["eval", "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"Default: {cli_eval.HANDS:,}, or {cli_eval.RESOLVED_HANDS} with --resolve" in printed.replace(" │ │ ", " ")
