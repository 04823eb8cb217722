"""Installed packages whose tasks, trainers and backends end the program that imports them."""

import subprocess

import pytest

from ...folders import runtime
from ...packages import install
from ..commands import start

POINTS = {
    "pac.tasks": {"quits": "quitting:FAMILY"},
    "pac.trainers": {"quits": "quitting:KIND"},
    "pac.backends": {"quits": "quitting:Quits"},
}
NAMED = "quits of an installed package could not be imported: SystemExit: I quit"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a folder on Python's path with such a package."""
    install(tmp_path, "quitting", {"quitting.py": "import sys\nsys.exit('I quit')\n"}, POINTS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def run(command: str, folder) -> subprocess.CompletedProcess[str]:
    with runtime() as directory:
        process = start(tuple(command.split()), directory, folder)
        stdout, stderr = process.communicate(timeout=90)
    return subprocess.CompletedProcess(command, process.returncode, stdout, " ".join(stderr.split()))


@pytest.mark.session
@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("--help", "Exit codes: 0 success"),
        ("tasks", "autochess"),
        ("runs", "No runs"),
    ],
)
def test_other_commands_work(installed, command, found):
    """Other commands exit with 0 and their usual output."""
    done = run(command, installed)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert found in " ".join(done.stdout.split())


@pytest.mark.session
@pytest.mark.parametrize("kind", ["task", "trainer", "backend"])
def test_the_broken_one_is_reported(installed, kind):
    """Using it is an error in one sentence with exit code 2."""
    done = run(f"run --headless --{kind} quits", installed)
    assert done.returncode == 2
    assert done.stderr.endswith(f"pac-tui: the {kind} {NAMED}")
