"""`pac-tui runs`: damaged runs are listed, and runs are removed only after a confirmation."""

import io
import json
import os
import shutil
import sys

import psutil
import pytest

from pac.backends.system.segment import new_directory, remove_directory
from pac.envs import find
from pac.training.runs.folder import RunFolder
from pac.training.telemetry.blocks import TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import Phase
from pac.tui.cli import runs as cli_runs
from pac.tui.cli.commands import main

from ...folders import runtime
from ...toys import FACTS
from ...waiting import until
from ..commands import Terminal, start

DEEP = "[" * 100_000


@pytest.fixture
def runs(tmp_path, monkeypatch, runtime_directory):
    """Return a folder with one valid run in the working directory, without a running session."""
    monkeypatch.chdir(tmp_path)
    run = RunFolder.create(tmp_path / "runs", "sound")
    run.write_metadata({"task": "drmario", "trainer": "ppo", "state": "completed", "started": 1e9})
    run.append_metrics({"iterations": 1, "steps": 5, "return_mean": 2.0})
    return tmp_path / "runs"


class Answer(io.StringIO):
    """Return a terminal with typed input."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("width", "titles"), [(80, ["run", "done", "goal", "state"]), (130, ["run", "N", "done"])])
def test_a_narrow_terminal_shows_whole_columns(runs, capsys, monkeypatch, *, width, titles):
    """The least important are left out, and none is cut."""
    name = "minigrid-empty-5x5-v0-ppo-1125-140816"
    run = RunFolder.create(runs, name)
    run.write_metadata({"task": "drmario", "trainer": "ppo", "state": "interrupted", "steps": 14_336, "started": 1e9})
    run.append_metrics({"iterations": 1, "steps": 5, "return_mean": -123.7})
    monkeypatch.setattr(f"{cli_runs.__name__}.console.width", width)
    assert main(["runs"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[: len(titles)] == titles
    assert any(name in row and "14,336 steps" in row and "interrupted" in row for row in rows)
    assert "…" not in "".join(rows)


def states(capsys) -> dict[str, str]:
    assert main(["runs", "--json"]) == 0
    return {run["name"]: run.get("error", "") for run in json.loads(capsys.readouterr().out)["runs"]}


@pytest.mark.parametrize(
    ("file", "make"),
    [
        ("run.json", lambda path: path.write_text(DEEP)),
        ("run.json", lambda path: path.write_text('{"started": 1e999}')),
        ("run.json", lambda path: path.write_text(f'{{"started": {"9" * 400}}}')),
        ("run.json", lambda path: path.write_text('{"started": 1e50, "task": "x"}')),
        ("run.json", os.mkfifo),
        ("run.json", lambda path: path.symlink_to("/dev/zero")),
        ("run.json", lambda path: path.symlink_to("nowhere")),
        ("run.json", lambda path: path.mkdir()),
        ("metrics.jsonl", os.mkfifo),
        ("metrics.jsonl", lambda path: path.symlink_to("/dev/zero")),
    ],
)
def test_a_bad_run_is_listed_beside_the_others(runs, capsys, file, make):
    """A bad run is listed with its error, without blocking."""
    bad = RunFolder.create(runs, "bad")
    bad.write_metadata({"task": "drmario", "trainer": "ppo", "state": "completed"})
    (bad.path / file).unlink(missing_ok=True)
    make(bad.path / file)
    found = states(capsys)
    assert found["sound"] == ""
    assert file in found["bad"]
    assert main(["runs"]) == 0
    assert "sound" in capsys.readouterr().out


def test_a_run_without_metadata_is_listed(runs, capsys):
    """The folder of a session that was killed before it wrote metadata is listed and can be removed."""
    RunFolder.create(runs, "killed")
    assert "is missing" in states(capsys)["killed"]
    assert main(["runs", "rm", "killed", "--yes"]) == 0
    assert [path.name for path in runs.iterdir()] == ["sound"]


def seeds_of(runs, name, learning_rate, returns):
    """Write a run per return, which differ in their seeds."""
    for seed, found in enumerate(returns):
        run = RunFolder.create(runs, f"{name}-s{seed}")
        config = {"task": "CartPole-v1", "seed": seed, "name": run.name, "settings": {"learning_rate": learning_rate}}
        run.write_metadata({"task": "CartPole-v1", "trainer": "ppo", "state": "completed", "config": config})
        for step in (1, 2):
            run.append_metrics({"iterations": step, "steps": step, "loss/value": 0.5, "return_mean": found * step / 2})


def test_runs_have_the_columns_the_order_and_the_condition_that_the_user_chooses(runs, capsys):
    """Names of settings, metrics and tags; an unknown one is an error with the nearest."""
    seeds_of(runs, "fast", 1e-3, (10.0, 30.0, 20.0))
    assert main(["runs", "tag", "fast-s0", "good", "old"]) == 0
    assert main(["runs", "tag", "fast-s0", "-old"]) == 0
    assert main(["runs", "note", "fast-s1", "too lucky"]) == 0
    capsys.readouterr()
    options = ["--where", "task == 'CartPole-v1' and return >= 20 or tag/good", "--sort", "return"]
    assert main(["runs", *options, "--columns", "ppo.learning_rate,seed,return,note"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["run", "ppo.learning_rate", "seed", "return", "note"],
        ["fast-s0", "0.001", "0", "10"],
        ["fast-s2", "0.001", "2", "20"],
        ["fast-s1", "0.001", "1", "30", "too", "lucky"],
    ]
    assert main(["runs", "--where", "retrun > 3"]) == 2
    assert "unknown name in --where 'retrun'. Did you mean return?" in capsys.readouterr().err
    assert main(["runs", "--where", "__import__('os')"]) == 2
    assert main(["runs", "tag", "fast-s0", "no-word"]) == 2


def test_seeds_of_the_same_settings_are_one_column(runs, capsys, tmp_path):
    """With their figures, and how probable it is that one is better; and in the files."""
    seeds_of(runs, "fast", 1e-3, (10.0, 30.0, 20.0, 40.0))
    seeds_of(runs, "slow", 1e-4, (9.0, 11.0, 1.0, 2.0))
    where = ["--where", "task == 'CartPole-v1'", "--sort", "-learning_rate"]
    files = ["--csv", str(tmp_path / "a.csv"), "--svg", str(tmp_path / "a.svg")]
    assert main(["runs", "compare", *where, *files]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split("  ")[-1].strip() == "fast (4 seeds)"
    assert "94%" in next(line for line in out.splitlines() if line.startswith("better than slow"))
    rows = (tmp_path / "a.csv").read_text().splitlines()
    assert rows[0].startswith("run,group,config.seed,config.settings.learning_rate,return_mean")
    assert len(rows) == 9
    assert (tmp_path / "a.svg").read_text().count("<polygon") == 2
    assert main(["runs", "compare", *where, "--json"]) == 0
    slow, fast = json.loads(capsys.readouterr().out)["groups"]
    assert (fast["seeds"], fast["mean"], fast["iqm"], fast["better"]["than"]) == (4, 25.0, 25.0, slow["name"])
    assert fast["better"]["probability"] == 15 / 16
    assert main(["runs", "compare", *where, "--columns", "learning_rate,state"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[-2:]] == ["learning_rate", "state"]
    assert main(["runs", "compare", *where, "--columns", "no_such"]) == 2
    assert fast["low"] < 25 < fast["high"]


def test_logs_of_other_programs_are_shown(runs, capsys):
    """One with its curves, several as a list; what cannot be read says why."""
    for name in ("a", "b"):
        (runs.parent / "logs" / name).mkdir(parents=True)
        (runs.parent / "logs" / name / "progress.csv").write_text("rollout/ep_rew_mean,step\n1.5,100\n2.5,200\n")
    assert main(["runs", "show", "logs/a"]) == 0
    assert "rollout/ep_rew_mean  2       200    2.500" in capsys.readouterr().out
    (runs.parent / "logs" / "b" / "progress.csv").write_text("nothing")
    assert main(["runs", "show", "logs"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[:4] for line in out.splitlines() if "CSV" in line][-1] == ["a", "CSV", "1", "2.500"]
    assert "b/progress.csv cannot be read" in out
    assert main(["runs", "show", "logs", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["logs"]) == 2
    assert main(["runs", "show", "runs"]) == 2
    assert "has no logs that are known" in capsys.readouterr().err


def test_a_run_is_renamed(runs, capsys):
    """Only by its name, never one that is being trained, never onto something."""
    assert main(["runs", "rename", "sound", "better"]) == 0
    RunFolder.create(runs, "other").write_metadata({"task": "drmario", "trainer": "ppo"})
    assert main(["runs", "rename", "better", "other"]) == 2
    assert main(["runs", "rename", "better", "../away"]) == 2
    assert main(["runs", "rename", "runs/better", "away"]) == 2
    run = RunFolder(runs / "better")
    run.claim()
    assert main(["runs", "rename", "better", "away"]) == 2
    assert "being trained" in capsys.readouterr().err
    run.release()
    assert sorted(path.name for path in runs.iterdir()) == ["better", "other"]


def test_damaged_lines_of_metrics_are_counted(runs, capsys):
    """`show` and `compare` report skipped lines."""
    path = runs / "sound" / "metrics.jsonl"
    path.write_text(path.read_text().replace("2.0", "9.0") + DEEP + "\n")
    assert main(["runs", "show", "sound"]) == 0
    assert "2 lines skipped: damaged" in capsys.readouterr().out
    assert main(["runs", "show", "sound", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["damaged_metrics"] == 2
    assert main(["runs", "compare", "sound", "sound"]) == 0
    assert "2 lines skipped" in capsys.readouterr().out


def test_nothing_is_removed_without_confirmation(runs, capsys, monkeypatch):
    """Without a terminal, the error names --yes."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert main(["runs", "rm", "sound"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert (runs / "sound").is_dir()


@pytest.mark.parametrize(("answer", "gone"), [("y\n", True), ("n\n", False), ("\n", False), ("", False)])
def test_a_removal_is_confirmed(runs, capsys, monkeypatch, answer, gone):
    """The runs to remove are shown, and only a yes removes them."""
    (runs / "sound" / "checkpoints" / "step-000000000001").mkdir()
    monkeypatch.setattr(sys, "stdin", Answer(answer))
    assert main(["runs", "rm", "sound"]) == (0 if gone else 1)
    assert "sound: " in (out := capsys.readouterr().out)
    assert "1 checkpoint\n" in out
    assert (runs / "sound").exists() is not gone


def test_a_run_that_is_replaced_at_the_prompt_is_not_removed(runs, capsys, monkeypatch):
    """Neither what was shown, which has another name now, nor what was put there instead."""

    shutil.copytree(runs / "sound", runs / "other")

    def exchange(_question: str) -> str:
        (runs / "sound").rename(runs / "moved")
        (runs / "other").rename(runs / "sound")
        return "y"

    monkeypatch.setattr(sys, "stdin", Answer(""))
    monkeypatch.setattr("builtins.input", exchange)
    assert main(["runs", "rm", "sound"]) == 2
    assert "sound was not removed: another folder has its path by now" in capsys.readouterr().err.replace("\n", " ")
    assert (runs / "moved" / "run.json").exists()
    assert list((runs / "sound").iterdir())


@pytest.mark.parametrize("name", [".", "..", "runs/sound", "../elsewhere", "{cwd}/elsewhere"])
def test_only_names_are_removed(runs, capsys, name):
    """Other folders with a `run.json` are not removed."""
    other = runs.parent / "elsewhere"
    other.mkdir()
    for folder in (other, runs, runs.parent):
        (folder / "run.json").write_text("{}")
    assert main(["runs", "rm", "--yes", name.format(cwd=runs.parent)]) == 2
    assert "is not the name of a run" in capsys.readouterr().err
    assert other.is_dir()
    assert (runs / "sound").is_dir()


def test_all_are_checked_before_one_is_removed(runs):
    """If one name is wrong, nothing is removed."""
    assert main(["runs", "rm", "--yes", "sound", "sond"]) == 2
    assert (runs / "sound").is_dir()


def test_a_running_run_is_not_removed(runs, capsys):
    """The error contains the process id of the session."""
    run = RunFolder(runs / "sound")
    run.claim()
    assert main(["runs", "rm", "sound", "--yes"]) == 2
    assert f"being trained by process {os.getpid()}" in capsys.readouterr().err
    run.release()
    assert run.path.is_dir()


@pytest.mark.session
def test_a_removal_is_asked_for_on_a_terminal(runs):
    """The user confirms with y."""
    with runtime() as folder:
        terminal = Terminal(("runs", "rm", "sound"), folder, runs.parent)
        until(lambda: b"[y/N]" in terminal.drawn, "the question")
        assert (runs / "sound").is_dir()
        terminal.press("y\n")
        assert terminal.process.wait(60) == 0
        terminal.close()
    assert not list(runs.iterdir())


@pytest.mark.session
def test_a_session_that_is_killed_as_it_starts_leaves_a_run_that_is_listed(runs, capsys):
    """It is listed as died, with its configuration, and can be removed."""
    with runtime() as folder:
        command = start(("run", "--headless", "--name", "killed", "--num-envs", "2"), folder, runs.parent)
        until((runs / "killed" / "run.json").exists, "the run's first metadata")
        assert RunFolder(runs / "killed").metadata()["state"] == "starting"
        for process in psutil.Process(command.pid).children(recursive=True):
            process.kill()
        command.communicate(timeout=60)
    assert main(["runs"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("killed")]
    assert "died" in line
    assert main(["runs", "rm", "killed", "--yes"]) == 0


def test_a_live_run_is_shown_with_its_counts(runs, capsys):
    """As of now; those in its files are older."""
    folder = RunFolder.create(runs, "live")
    folder.write_metadata({"task": "drmario", "trainer": "ppo", "state": "running", "steps": 0})
    directory = new_directory()
    writer = TelemetryWriter(describe(find("drmario"), **FACTS, folder=str(folder.path)), 4, 1, directory)
    with writer.write("state") as state:
        state["phase"], state["num_envs"], state["steps"] = Phase.RUNNING, 4, 1234
    assert main(["runs", "show", "live", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["steps"], facts["state"], facts["num_envs"]) == (1234, "live", 4)
    remove_directory(directory)


def test_options_before_a_command_are_explained(runs, capsys):
    """They belong to the command."""
    assert main(["runs", "--runs-dir", str(runs), "show", "sound"]) == 2
    assert "options follow the command that they belong to: `pac-tui runs show" in capsys.readouterr().err
