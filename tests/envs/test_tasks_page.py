"""The page about one's own environments: its examples are files that run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ..packages import blocks, files_of, install_page
from ..programs import python

pytestmark = pytest.mark.session

FILES = files_of("tasks.md")
CHECKS = [code for code in blocks("tasks.md", "python") if code not in FILES.values()]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder with the page's package."""
    install_page(tmp_path, "tasks.md")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(*arguments, cwd=folder, environ={"PYTHONPATH": str(folder)})


@pytest.mark.parametrize("index", range(len(CHECKS)))
def test_the_examples_conform(installed, index):
    """Each example's check passes, in an interpreter of its own."""
    result = run(installed, "-c", CHECKS[index])
    assert (result.returncode, result.stderr) == (0, "")


def test_an_installed_task_is_listed(installed):
    """A package's task is among the tasks, and a similar unknown name is reported."""
    result = run(installed, "-m", "pac.tui", "tasks", "--json")
    assert '"ladder"' in result.stdout, result.stderr
    assert "Did you mean ladder" in run(installed, "-c", "import pac.envs; pac.envs.find('laddr')").stderr


def test_a_task_whose_package_is_broken(installed):
    """It is reported when it is asked for, and takes none of the others with it."""
    (installed / "ladder.py").write_text("import no_such_module\n")
    assert run(installed, "-c", "import pac.envs; pac.envs.find('drmario')").returncode == 0
    result = run(installed, "-c", "import pac.envs; pac.envs.find('ladder')")
    assert (
        "the task ladder of an installed package needs the module 'no_such_module', which is not installed"
        in result.stderr
    )


@pytest.mark.parametrize("task", ["coins:Coins,size=9", "ladder:height=9"])
def test_the_examples_train(installed, task):
    """Each example learns for a moment on worker processes."""
    options = ("--headless", "--seconds", "1", "--num-envs", "2", "--workers", "2", "--json", "--task", task)
    result = run(installed, "-m", "pac.tui", "run", *options)
    assert result.returncode == 0, result.stderr
    assert '"backend": "shm"' in result.stdout
