"""Runs programs to their end, or beside the test."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIMIT = 300.0  # s


def program(
    *command: str | Path, environ: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program; return its exit code and what it printed.

    Args:
        command: The program and its arguments.
        environ: Variables of the environment, besides those of this process.
        options: Those of `subprocess.run`.
    """
    env = {**os.environ, **(environ or {})}
    options = {"env": env, "timeout": LIMIT, "check": False, **options}
    return subprocess.run(command, capture_output=True, text=True, **options)  # noqa: PLW1510 - see options


def python(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run this interpreter, as `program` does."""
    return program(sys.executable, *arguments, **options)


def pac_tui(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `pac-tui`, as `program` does."""
    return python("-m", "pac.tui", *arguments, **options)


def talking(*arguments: str | Path, stderr: int = subprocess.DEVNULL, **options: Any) -> subprocess.Popen[str]:
    """Start this interpreter beside the test, with pipes for its input and output; options are those of `Popen`."""
    command = [sys.executable, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, text=True, **options)
