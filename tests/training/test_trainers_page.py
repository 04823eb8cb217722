"""The page docs/trainers.md: its package is installed, trains, saves and resumes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from ..packages import files_of, install_page
from ..programs import python

pytestmark = pytest.mark.session

(CODE,) = files_of("trainers.md").values()
OPTIONS = ("--trainer", "random-search", "--task", "CartPole-v1", "--num-envs", "2", "--workers", "1")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder with the page's package."""
    install_page(tmp_path, "trainers.md")
    return tmp_path


def pac_tui(
    folder: Path, *arguments: str, code: int = 0, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    result = python("-m", "pac.tui", *arguments, cwd=folder, environ={"PYTHONPATH": str(folder), **(environ or {})})
    assert result.returncode == code, result.stderr
    return result


def test_it_trains_saves_and_resumes(installed):
    """A run of the page's trainer continues from its checkpoint and is listed with its figures."""
    options = ("run", "--headless", "--json")
    first = json.loads(pac_tui(installed, *options, *OPTIONS, "--steps", "2000", "--name", "one").stdout)
    second = json.loads(pac_tui(installed, *options, "--resume", "one", "--steps", "4000").stdout)
    assert (first["trainer"], first["device"]) == ("random-search", "cpu")
    assert first["metrics"]["tried"] == first["iterations"] * 2
    assert second["metrics"]["tried"] > first["metrics"]["tried"]
    assert second["metrics"]["best_score"] >= first["metrics"]["best_score"] > 0
    (run,) = json.loads(pac_tui(installed, "runs", "--json").stdout)["runs"]
    assert (run["name"], run["trainer"]) == ("one", "random-search")


def test_settings_come_from_every_layer(installed):
    """A file, a variable and a flag set its settings, with hyphens or underscores; `config` shows the source."""
    (installed / "a.yaml").write_text("random-search:\n  spread: 0.25\n  steps: 9\n")
    environ = {"PAC_RANDOM_SEARCH_STEPS": "64"}
    arguments = ("config", *OPTIONS, "--config", "a.yaml", "--json")
    shown = json.loads(pac_tui(installed, *arguments, environ=environ).stdout)
    assert shown["random-search"] == {"steps": 64, "spread": 0.25}
    assert shown["origins"]["random-search.steps"] == "PAC_RANDOM_SEARCH_STEPS"
    shown = json.loads(pac_tui(installed, *arguments, "--random-search.steps", "32", environ=environ).stdout)
    assert shown["random-search"]["steps"] == 32


def test_settings_are_explained(installed):
    """`config` describes each setting; a wrong setting or a misspelled name is an error in one sentence."""
    assert "standard deviation of a policy's weights" in " ".join(pac_tui(installed, "config", *OPTIONS).stdout.split())
    for arguments, sentence in (
        ((*OPTIONS, "--random-search.sprad", "1"), "unknown setting of random-search 'sprad'. Did you mean spread?"),
        ((*OPTIONS, "--random-search.spread", "0"), "random-search.spread expects a number above 0, got '0'"),
        (("--trainer", "random-serch"), "Did you mean random-search? Known: random-search, random, dqn, independent"),
    ):
        assert sentence in " ".join(pac_tui(installed, "config", *arguments, code=2).stderr.split())


def test_a_trainer_whose_package_is_broken(installed):
    """The error is reported when the trainer is used; other trainers work, and its runs are still listed."""
    pac_tui(installed, "run", "--headless", *OPTIONS, "--steps", "64", "--random-search.steps", "8")
    (installed / "random_search.py").write_text("import no_such_module\n")
    result = pac_tui(installed, "run", "--headless", *OPTIONS, "--steps", "64", code=2)
    assert "the trainer random-search of an installed package needs the module 'no_such_module'" in result.stderr
    assert "Traceback" not in result.stderr
    assert '"random-search"' in pac_tui(installed, "runs", "--json").stdout
    assert json.loads(pac_tui(installed, "config", "--trainer", "random", "--json").stdout)["trainer"] == "random"


def test_a_task_that_it_cannot_train_on(installed):
    """The trainer's own error is reported without a traceback."""
    options = ("--trainer", "random-search", "--task", "Pendulum-v1", "--num-envs", "2", "--workers", "1")
    result = pac_tui(installed, "run", "--headless", "--steps", "64", *options, code=2)
    assert "random-search needs one discrete action" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("point", "sentence"),
    [
        ("other = random_search:KIND", "the entry point other of pac.trainers must be a TrainerKind called other, got"),
        ("other = random_search:math", "the entry point other of pac.trainers must be a TrainerKind called other, got"),
        ("Other = random_search:KIND", "must be lower-case words joined by hyphens, got 'Other'"),
    ],
    ids=["another name", "another object", "a name with capitals"],
)
def test_an_entry_point_that_does_not_fit(installed, point, sentence):
    """An entry point must name a `TrainerKind` of the same name."""
    (installed / "from_trainers-1.0.dist-info" / "entry_points.txt").write_text(f"[pac.trainers]\n{point}\n")
    result = pac_tui(installed, "config", "--trainer", point.partition(" ")[0], code=2)
    assert sentence in " ".join(result.stderr.split())


def test_a_built_in_trainer_cannot_be_replaced(installed):
    """An entry point with the name of a built-in trainer has no effect. The page's has at most 60 lines of code."""
    points = installed / "from_trainers-1.0.dist-info" / "entry_points.txt"
    points.write_text("[pac.trainers]\nppo = random_search:KIND\n")
    assert "clip" in json.loads(pac_tui(installed, "config", "--trainer", "ppo", "--json").stdout)["ppo"]
    assert len([line for line in CODE.splitlines() if line.strip()]) <= 60
