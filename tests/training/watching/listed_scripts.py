"""Runs scripts that are watched without being changed, and prints what of each is shown.

python tests/training/watching/listed_scripts.py --python PYTHON [--against] [SCRIPT ...]

Without SCRIPT, the scripts in the folder `scripts` run. `--against` also runs each without watching, and compares the
line that begins with `weights`.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pac.envs import PacError
from pac.training.runs.sessions import sessions
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.watching.launching import watched_environment

SCRIPTS = Path(__file__).parent / "scripts"
LIMIT = 240.0  # s
OURS = ("info/", "rate/", "return/p", "length/p", "return_mean", "length_mean", "sps", "fps")
"""How the names of the curves begin that every session has."""
PLAIN_THREADS = {"OMP_NUM_THREADS": "1", "SDL_VIDEODRIVER": "dummy", "MPLBACKEND": "agg", "CUDA_VISIBLE_DEVICES": ""}


@dataclass
class Shown:
    """What was shown of a script."""

    sessions: dict[str, int] = field(default_factory=dict)  # environments N by name
    episodes: int = 0
    curves: set[str] = field(default_factory=set)  # its own
    weights: str = ""  # the line that it prints about its result
    code: int | None = None  # None if it was interrupted when everything was shown, or at the limit
    trouble: str = ""  # the line of pac-tui on stderr

    @property
    def complete(self) -> bool:
        """Whether environments and returns were shown."""
        return bool(self.sessions) and self.episodes > 0


def run(script: Path, python: str, *, watched: bool, whole: bool, limit: float = LIMIT) -> Shown:
    """Run a script in an empty folder, watched or not, and follow its sessions.

    It runs to its end if it is to be seen whole, or until environments, returns and curves were shown, or to the limit.
    """
    shown, environment = Shown(), {**os.environ, **PLAIN_THREADS}
    if watched:
        environment |= dict(watched_environment(quiet=True))
    with tempfile.TemporaryDirectory() as folder, Path(folder, "err.txt").open("w+") as errors:
        streams: Any = {"stdin": subprocess.DEVNULL, "stdout": errors, "stderr": errors}
        command = [python, str(script)]
        process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **streams)
        end = time.monotonic() + limit
        readers: dict[Path, TelemetryReader] = {}
        try:
            while process.poll() is None and time.monotonic() < end:
                if watched:
                    _look(process.pid, shown, readers)
                    if not whole and shown.complete and shown.curves:
                        break
                time.sleep(0.1)
            shown.code = process.poll()
            _look(process.pid, shown, readers)
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        errors.seek(0)
        for line in errors.read().splitlines():
            if line.startswith("weights"):
                shown.weights = line
            if line.startswith("pac-tui:"):
                shown.trouble = line
    return shown


def _look(pid: int, shown: Shown, readers: dict[Path, TelemetryReader]) -> None:
    """Note what the sessions of a process show, as a viewer does: it also sees what they publish at their end."""
    with contextlib.suppress(PacError, OSError):
        for session in sessions():
            if session.pid == pid and session.directory not in readers:
                readers[session.directory] = TelemetryReader(session.directory)
    for reader in readers.values():
        with contextlib.suppress(PacError, OSError):
            snapshot = take_snapshot(reader, ViewRequest(count=0))
            if snapshot.num_envs:
                name = snapshot.description.run
                shown.sessions[name] = max(shown.sessions.get(name, 0), snapshot.num_envs)
                shown.episodes = max(shown.episodes, int(snapshot.state["episodes"]))
                shown.curves |= {name for name in snapshot.metrics if not name.startswith(OURS)}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--against", action="store_true")
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("scripts", nargs="*", type=Path)
    options = parser.parse_args()
    print("| script | sessions (N) | episodes | own curves | result |")  # noqa: T201
    print("|---|---|---|---|---|")  # noqa: T201
    for script in options.scripts or sorted(SCRIPTS.glob("*.py")):
        path = script.resolve()
        shown = run(path, options.python, watched=True, whole=options.against, limit=options.limit)
        result = shown.trouble or ("interrupted" if shown.code is None else f"exit code {shown.code}")
        if options.against:
            plain = run(path, options.python, watched=False, whole=True, limit=options.limit)
            alike = (plain.code, plain.weights) == (shown.code, shown.weights)
            result = f"{result}, {'equal' if alike else f'{plain.weights} != {shown.weights}'}"
        found = ", ".join(f"{name} ({count})" for name, count in sorted(shown.sessions.items()))
        curves = ", ".join(sorted(shown.curves)[:3]) + (", ..." if len(shown.curves) > 3 else "")
        print(f"| {script.stem} | {found} | {shown.episodes} | {curves} | {result} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
