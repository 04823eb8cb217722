"""Commands and their output."""

import json
from typing import Any

import pytest
from rich.console import Console

from pac.training.runs.folder import RunFolder
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Level, Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.tui.cli import bench_show as cli_bench_show
from pac.tui.cli import commands as cli
from pac.tui.cli import show as cli_show
from pac.tui.cli.commands import main
from pac.tui.cli.flags import Flags, with_settings
from pac.tui.cli.run import ProgressLine
from pac.tui.drawing.spark import sparkline

from ..programs import python


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in an empty directory, with no configuration in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli_show, "console", Console(highlight=False, width=160))
    monkeypatch.setattr(cli_bench_show, "console", Console(highlight=False, width=160))


def json_of(capsys, *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["--ppo.clip", "0.1"], ["--set=ppo.clip=0.1"]),
        (["--ppo.clip=0.1", "--json"], ["--set=ppo.clip=0.1", "--json"]),
        (["--ppo.target-kl", "-1"], ["--set=ppo.target-kl=-1"]),
        (["--ppo.clip", "--task", "noop"], ["--set=ppo.clip=", "--task", "noop"]),
        (["--ppo.clip"], ["--set=ppo.clip="]),
        (["--num-envs", "4"], ["--num-envs", "4"]),
        (["--baseline", "false", "--json"], ["--baseline=false", "--json"]),
        (["--baseline", "--json"], ["--baseline", "--json"]),
        (["--ppo.learning-rate", "0:3e-4,1e6:1e-4"], ["--set=ppo.learning-rate=0:3e-4,1e6:1e-4"]),
    ],
)
def test_settings_are_flags(typed, read):
    """A trainer's setting is a flag with a point."""
    assert with_settings(typed) == read


def test_flags_know_what_was_given():
    """Only given flags override other sources."""
    assert Flags(num_envs=4).given() == {"num_envs": 4}
    assert Flags(set=("ppo.clip=0.1",)).given() == {"ppo.clip": "0.1"}


@pytest.mark.parametrize(
    ("flags", "task"),
    [
        (Flags(task="autochess", players=8), "autochess:players=8"),
        (Flags(task="drmario:level=2", players=2), "drmario:level=2,players=2"),
        (Flags(players=2), "drmario:players=2"),
    ],
)
def test_players_is_short_for_a_parameter(flags, task):
    """`--players 8` is the task's parameter."""
    assert flags.given()["task"] == task


def test_version(capsys):
    """`--version` prints the version, and nothing else."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == "0.1.0"


def test_help_lists_the_commands(capsys):
    """`--help` names every command and the exit codes."""
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    commands = ["bench", "config", "doctor", "env-server", "eval", "play", "run", "runs", "tasks"]
    assert all(command in out for command in commands)
    assert "130" in out


def test_tasks(capsys):
    """`tasks` lists the games with their parameters."""
    tasks = {task["name"]: task for task in json_of(capsys, "tasks")["tasks"]}
    assert tasks["drmario"]["actions"] == 512
    assert {"level", "speed"} <= {parameter["name"] for parameter in tasks["drmario"]["parameters"]}


def test_config_says_where_values_come_from(capsys, monkeypatch):
    """`config` shows the effective values: flags, variables, the task's recommendations, defaults."""
    monkeypatch.setenv("PAC_SEED", "7")
    shown = json_of(capsys, "config", "--num-envs", "3", "--ppo.clip", "0.1")
    assert (shown["num_envs"], shown["seed"], shown["ppo"]["clip"]) == (3, 7, 0.1)
    origins = shown["origins"]
    expected = {"num_envs": "--num-envs", "seed": "PAC_SEED", "ppo.clip": "--ppo.clip", "backend": "default"}
    assert origins.items() >= {**expected, "ppo.batch": "recommended for drmario"}.items()


def test_config_shows_recommended_settings_of_an_environment(capsys):
    """`config` shows which settings are recommended for CartPole, and which of them a flag overrides."""
    shown = json_of(capsys, "config", "--task", "CartPole-v1", "--ppo.gamma", "0.9")
    origins = {key: shown["origins"][f"ppo.{key}"] for key in ("gae_lambda", "gamma", "layers")}
    assert origins == {"gae_lambda": "recommended for CartPole-v1", "gamma": "--ppo.gamma", "layers": "default"}
    assert (shown["ppo"]["gae_lambda"], shown["ppo"]["gamma"]) == (0.9, 0.9)


def test_config_shows_the_note_of_an_environment(capsys, tmp_path):
    """The note is a comment at the top, and the output is still a file that `--config` takes."""
    assert main(["config", "--task", "MountainCarContinuous-v0"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# MountainCarContinuous-v0 needs exploration")
    (tmp_path / "a.yaml").write_text(out)
    assert "needs exploration" in json_of(capsys, "config", "--config", "a.yaml")["note"]


@pytest.mark.parametrize("width", [160, 60])
def test_config_prints_yaml(capsys, tmp_path, monkeypatch, width):
    """What `config` prints is a file that `--config` takes."""
    monkeypatch.setattr(cli_show.console, "width", width)
    assert main(["config", "--num-envs", "3", "--ppo.clip", "0.1"]) == 0
    (tmp_path / "a.yaml").write_text(capsys.readouterr().out)
    shown = json_of(capsys, "config", "--config", "a.yaml")
    assert (shown["num_envs"], shown["ppo"]["clip"]) == (3, 0.1)


@pytest.mark.parametrize("command", ["config", "doctor", "preferences", "tasks"])
def test_output_fits_a_narrow_terminal(capsys, monkeypatch, command):
    """In 60 columns, words wrap in their own column."""
    monkeypatch.setattr(cli_show.console, "width", 60)
    assert main([command]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_doctor(capsys):
    """`doctor` checks the machine, and every warning says what to do."""
    findings = json_of(capsys, "doctor")["findings"]
    assert {"cores", "shared memory", "GPU", "terminal", "kernel cache"} <= {item["name"] for item in findings}
    assert all(item["advice"] for item in findings if not item["ok"])


@pytest.mark.parametrize(("features", "advised"), [("256,RGB", ""), ("256", "terminal-features ',*:RGB'")])
def test_doctor_says_what_to_set_in_tmux(capsys, tmp_path, monkeypatch, features, advised):
    """Nothing, if tmux passes all colors on."""
    program = tmp_path / "tmux"
    program.write_text(f"#!/bin/sh\necho {features}\n")
    program.chmod(0o755)
    for name in ("COLORTERM", "STY", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "screen-256color", "TMUX": "x", "PATH": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    found = next(item for item in json_of(capsys, "doctor")["findings"] if item["name"] == "colors")
    assert advised in found["advice"]
    assert bool(advised) == bool(found["advice"])


def test_runs(capsys, tmp_path):
    """`runs` lists, shows and removes run folders."""
    folder = tmp_path / "runs" / "one"
    (folder / "checkpoints" / "step-1").mkdir(parents=True)
    metadata = {"task": "drmario", "trainer": "ppo", "num_envs": 4, "steps": 12, "started": 0, "state": "ended"}
    (folder / "run.json").write_text(json.dumps(metadata))
    assert [run["name"] for run in json_of(capsys, "runs", "list")["runs"]] == ["one"]
    assert json_of(capsys, "runs", "show", "one")["checkpoints"] == ["step-1"]
    assert main(["runs"]) == 0
    assert "one" in capsys.readouterr().out
    assert main(["runs", "rm", "one", "--yes"]) == 0
    assert not folder.exists()
    assert main(["runs", "show", "one"]) == 2


def test_the_name_of_a_run_is_never_cut(capsys, tmp_path, monkeypatch):
    """The name is complete, because other commands need it; other columns are cut, and folders wrap."""
    monkeypatch.setattr(cli_show.console, "width", 60)
    name = "a-run-that-was-given-a-long-name"
    RunFolder.create(tmp_path / "runs", name).write_metadata(
        {"task": "drmario", "trainer": "ppo", "steps": 12, "state": "completed"}
    )
    assert main(["runs"]) == 0
    assert name in capsys.readouterr().out
    assert main(["runs", "show", name]) == 0
    assert "…" not in capsys.readouterr().out


def test_runs_are_counted_in_their_trainers_words(capsys, tmp_path):
    """A solver has iterations and no episodes."""
    for name, trainer in (("solved", "mccfr"), ("learned", "ppo")):
        metadata = {"task": "leduc", "trainer": trainer, "steps": 12, "frames": 3456, "episodes": 78901}
        RunFolder.create(tmp_path, name).write_metadata(metadata)
    assert main(["runs", "list", "--runs-dir", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "3,456 iterations" in shown
    assert "12 steps" in shown
    assert shown.count("78,901") == 1


def test_a_run_is_shown_in_its_trainers_words(capsys, tmp_path):
    """Values that a solver does not count are hidden by `show` and `compare`; the JSON has all."""
    for name, batches in (("one", 12), ("two", 13)):
        metadata = {
            "task": "leduc",
            "trainer": "mccfr",
            "num_envs": 2,
            "steps": batches,
            "frames": 3456,
            "episodes": 78,
        }
        run = RunFolder.create(tmp_path, name)
        run.write_metadata({**metadata, "iterations": 90, "return_mean": -0.1, "nash_conv": 0.5})
        run.append_metrics({"fps": float(batches), "nash_conv": 0.5, "return_mean": 1 / batches})
    assert main(["runs", "show", "one", "--runs-dir", str(tmp_path)]) == 0
    shown = {words[0]: words[1:] for line in capsys.readouterr().out.splitlines() if (words := line.split())}
    told_of = {"workers": ["2"], "batches": ["12"], "iterations": ["3,456"], "nash_conv": ["0.5"]}
    assert shown.items() >= told_of.items()
    assert not shown.keys() & {"num_envs", "steps", "frames", "episodes", "return_mean"}
    assert main(["runs", "compare", "one", "two", "--runs-dir", str(tmp_path)]) == 0
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert words == ["NashConv", "it/s", "batches"]
    assert json_of(capsys, "runs", "show", "one", "--runs-dir", str(tmp_path))["episodes"] == 78


@pytest.mark.parametrize("command", [["runs"], ["runs", "show", "one"], ["doctor"]])
def test_lines_end_where_their_text_does(capsys, tmp_path, command):
    """Lines have no trailing spaces."""
    RunFolder.create(tmp_path / "runs", "one").write_metadata({"task": "drmario", "trainer": "ppo", "steps": 12})
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert [line for line in lines if line != line.rstrip()] == []


def test_the_final_error_is_printed_at_the_end(capsys, fake):
    """Who follows it tells it then; what happened before stands above it, as it happened."""
    reader, line = TelemetryReader(fake.directory), ProgressLine()
    fake.event(Level.ERROR, "cannot write metrics.jsonl")
    fake.event(Level.FATAL, "environment 1 raised ValueError")
    line.show(take_snapshot(reader, ViewRequest(count=0)))
    fake.say(phase=Phase.FAILED, message=b"environment 1 raised ValueError")
    line.show(take_snapshot(reader, ViewRequest(count=0)))
    err = capsys.readouterr().err
    assert "cannot write metrics.jsonl" in err
    assert "ValueError" not in err


def test_runs_are_compared(capsys, tmp_path):
    """Differing values and the curve of the return are shown, and equal values are not."""
    for name, rate in (("one", 0.1), ("two", 0.2)):
        run = RunFolder.create(tmp_path, name)
        run.write_metadata({"task": "drmario", "steps": 5, "config": {"seed": 3, "settings": {"learning_rate": rate}}})
        run.append_metrics({"steps": 5, "return_mean": rate})
        with (run.path / "metrics.jsonl").open("a") as file:
            file.write('{"cut')
    assert main(["runs", "compare", "one", "two", "--runs-dir", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["runs"]
    shown = {"config.settings.learning_rate": 0.1, "return_mean": 0.1, "best return_mean": 0.1}
    assert found["one"] == shown
    assert main(["runs", "compare", "one", "--runs-dir", str(tmp_path)]) == 2


def test_a_sparkline_goes_from_the_lowest_to_the_highest():
    """Long curves are averaged, and without values the text is empty."""
    assert sparkline([0.0, float("nan"), 7.0]) == "▁█"
    assert sparkline([float(k) for k in range(160)]) == "▁▁▂▂▃▃▄▄▅▅▆▆▇▇██"
    assert sparkline([1.0, 0.1, 0.0, 0.01], log=True) == "█▅▁"
    assert not sparkline([])


def test_bars():
    """Bars have a resolution of an eighth of a character."""
    assert cli_bench_show.bar(1.0) == "█" * cli_bench_show.BAR
    assert len(cli_bench_show.bar(0.5)) == cli_bench_show.BAR // 2
    assert cli_bench_show.bar(0.0) == ""


@pytest.mark.session
def test_the_command_is_light():
    """The command line and its help import no large package."""
    code = (
        "import sys; from pac.tui.cli.commands import main; main(['--help']); import pac.tui.cli.run; "
        "heavy = {'torch', 'numba', 'gymnasium', 'textual'} & set(sys.modules); sys.exit(str(heavy) if heavy else 0)"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


def test_main_raises_programming_errors(monkeypatch):
    """A programming error is raised, not reported as a user's error."""

    def broken(*_arguments, **_options):
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(ZeroDivisionError):
        main([])
