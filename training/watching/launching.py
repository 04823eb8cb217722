"""Starts a script so that it is watched: which interpreter runs it, and with which environment variables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...envs import BadParameter
from .startup.sitecustomize import VARIABLE, path_with_startup

MIN_PYTHON = (3, 11)
PROBE = (
    "import json, sys, importlib.util as util\n"
    "def has(name):\n"
    "    try: return util.find_spec(name) is not None\n"
    "    except ImportError: return False\n"
    "print(json.dumps([sys.version_info[:2], has('numpy')]))"
)
PROBE_TIMEOUT = 60.0  # s


def find_interpreter(path: str | None) -> str:
    """Return the executable of an interpreter that a script can be watched in.

    Args:
        path: Its executable. Default: that of the active virtual environment, else the one that runs this program.

    Raises:
        BadParameter: It cannot be started, is too old or has no NumPy.
    """
    active = os.environ.get("VIRTUAL_ENV")
    chosen = path or (str(Path(active, "bin", "python")) if active else sys.executable)
    if chosen == sys.executable:
        return chosen
    found = shutil.which(chosen)
    if found is None:
        raise BadParameter(f"--python expects a Python interpreter, and {chosen} cannot be executed")
    try:
        answer = subprocess.run([found, "-c", PROBE], capture_output=True, timeout=PROBE_TIMEOUT, check=True)
        version, has_numpy = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise BadParameter(f"--python expects a Python interpreter, and {found} is not one: {error}") from error
    if tuple(version) < MIN_PYTHON:
        wanted, given = (".".join(map(str, numbers)) for numbers in (MIN_PYTHON, version))
        raise BadParameter(f"watching needs Python {wanted} or newer, and {found} is Python {given}: use a newer one")
    if not has_numpy:
        raise BadParameter(f"watching needs NumPy, and {found} has none: run `{found} -m pip install numpy`")
    return found


def watched_environment(**request: Any) -> Mapping[str, str]:
    """Return the environment variables for a script that is to be watched.

    Args:
        request: What the hooks in the script's process are asked for, as data for JSON.
    """
    before = os.environ.get("PYTHONPATH")
    asked: dict[str, Any] = {"pythonpath": before, "folder": str(Path(__file__).parents[2]), **request}
    return {**os.environ, "PYTHONPATH": path_with_startup(before), VARIABLE: json.dumps(asked)}


def exec_script(interpreter: str, arguments: Sequence[str], **request: Any) -> int:
    """Replace this process by the script, so that terminal, signals and exit code are the script's own."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(interpreter, [interpreter, *arguments], dict(watched_environment(**request)))  # noqa: S606
