"""The Compose file of docs/: what it mounts, names and runs exists; Docker checks it where it is installed."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from pac.tui.cli.commands import app

FILE = Path(__file__).parents[1] / "docs" / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
KEYS = {
    *("build", "command", "depends_on", "environment", "image", "pid", "profiles", "stdin_open"),
    *("stop_grace_period", "tty", "volumes"),
}
"""The keys of a service in the Compose specification that the file may use."""


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_uses_known_keys_and_mounts_declared_volumes(name):
    """Nothing is misspelled, every volume is declared, and services that it names exist."""
    service = SERVICES[name]
    assert set(service) <= KEYS
    assert {volume.partition(":")[0] for volume in service["volumes"]} <= set(COMPOSE["volumes"])
    assert all(volume.partition(":")[2].startswith("/") for volume in service["volumes"])
    assert set(service.get("depends_on", [])) <= set(SERVICES)
    assert service.get("pid", f"service:{name}").partition(":")[2] in SERVICES


@pytest.mark.parametrize("name", SERVICES)
def test_a_command_is_one_of_pac_tui(name):
    """The command and its flags can be parsed."""
    program, *arguments = SERVICES[name]["command"].split()
    assert program == "pac-tui"
    app.parse_args(arguments, exit_on_error=False, print_error=False)


def test_screen_and_trainer_share_memory_and_processes():
    """A viewer maps the session's memory, and checks that its process is alive."""
    trainer, screen = SERVICES["trainer"], SERVICES["screen"]
    assert "runtime:/runtime" in trainer["volumes"]
    assert "runtime:/runtime" in screen["volumes"]
    assert trainer["environment"] == screen["environment"] == {"PAC_RUNTIME_DIR": "/runtime"}
    assert screen["pid"] == "service:trainer"


def compose(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", "compose", *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(
    shutil.which("docker") is None or compose("version").returncode != 0, reason="Docker Compose is not installed"
)
def test_docker_accepts_the_file():
    """`docker compose config` finds no error."""
    checked = compose("-f", str(FILE), "config", "--quiet")
    assert checked.returncode == 0, checked.stderr
