"""The recipes of CONTRIBUTING.md for packages: each one's code is installed from its page and then trains."""

import json
from pathlib import Path
from typing import Any

import pytest

from .packages import install_page
from .programs import python

pytestmark = pytest.mark.session

CONTRIBUTING = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
GAME = {"task": "ladder:height=9", "trainer": "random", "backend": "inline"}
ALGORITHM = {"task": "noop", "trainer": "random-search", "backend": "inline"}
BACKEND = {"task": "noop", "trainer": "random", "backend": "pool"}
TOGETHER = {"task": "ladder:height=9", "trainer": "random-search", "backend": "pool"}


def pac_tui(folder: Path, command: str) -> dict[str, Any]:
    result = python("-m", "pac.tui", *command.split(), "--json", cwd=folder, environ={"PYTHONPATH": str(folder)})
    assert result.returncode == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    return report


@pytest.mark.parametrize(
    ("pages", "options"),
    [
        (["tasks.md"], GAME),
        (["trainers.md"], ALGORITHM),
        (["backends.md"], BACKEND),
        (["tasks.md", "trainers.md", "backends.md"], TOGETHER),
    ],
    ids=["a game", "an algorithm", "a backend", "all three"],
)
def test_a_package_made_by_the_recipe_trains(tmp_path, pages, options):
    """`pac-tui run` trains with what the package adds, and the report names it."""
    for page in pages:
        assert f"docs/{page}" in CONTRIBUTING
        install_page(tmp_path, page)
    flags = " ".join(f"--{name} {value}" for name, value in options.items())
    report = pac_tui(tmp_path, f"run --headless --num-envs 4 --workers 2 --steps 512 --strict {flags}")
    assert {name: report[name] for name in options} == options
    assert report["steps"] >= 512


def test_a_backend_from_a_package_plays_the_same_games(tmp_path):
    """Every byte equals that of the backend inline."""
    install_page(tmp_path, "backends.md")
    rows = pac_tui(tmp_path, "bench traces --backends pool --task noop --games 5")["rows"]
    assert [(row["transport"], row["identical"]) for row in rows] == [("inline", True), ("pool", True)]
