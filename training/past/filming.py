"""Makes films of recorded episodes while the training goes on: each in a process of its own that gives way to it."""

from __future__ import annotations

import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

from ...envs import BadParameter

LIMIT = 600.0  # s for one film
SUFFIX = ".mp4"
ONE = threading.Lock()


def check_films() -> None:
    """Check that films can be made.

    Raises:
        BadParameter: The library for it is missing.
    """
    if find_spec("av") is None or find_spec("PIL") is None:
        raise BadParameter("--video needs PyAV and Pillow, which make films: pip install 'pac-tui[video]'")


def film(path: Path) -> str:
    """Make a film of a recorded episode beside its file, one at a time; return why it failed, or an empty text."""
    here = [sys.executable, "-P", "-m", "pac.tui"]
    making = [*here, "replay", str(path), "--video", str(path.with_suffix(SUFFIX)), "--trust"]
    with ONE:
        try:
            done = subprocess.run(
                ["nice", "-n", "19", *making],  # noqa: S607 - the training trusts what it plays
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return "" if not done.returncode else (said or [f"exit code {done.returncode}"])[-1]
