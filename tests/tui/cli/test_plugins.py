"""Installed packages whose tasks and trainers end the program that imports them."""

import subprocess

import pytest

from ...folders import runtime
from ..commands import start

POINTS = "[pac.tasks]\nquits = quitting:FAMILY\n[pac.trainers]\nquits = quitting:KIND\n"
NAMED = "quits of an installed package could not be imported: SystemExit: I quit"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder with such a package, where Python finds it."""
    (tmp_path / "quitting.py").write_text("import sys\nsys.exit('I quit')\n")
    info = tmp_path / "quitting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quitting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
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
    """They exit with 0 and print what they print without the package."""
    done = run(command, installed)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert found in " ".join(done.stdout.split())


@pytest.mark.session
@pytest.mark.parametrize("kind", ["task", "trainer"])
def test_the_one_that_is_asked_for_is_named(installed, kind):
    """It is one sentence, and bad usage."""
    done = run(f"run --headless --{kind} quits", installed)
    assert done.returncode == 2
    assert done.stderr.endswith(f"pac-tui: the {kind} {NAMED}")
