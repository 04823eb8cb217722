"""Keeps a run of a watched script: what viewers could see of it, in a folder as that of a training.

The thread that steps environments says what to write, and that of the sampler writes it, so that a slow disk does not
hold up the script.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...backends.system.segment import Segment
from ...envs import PacError
from ...envs.files import MIB
from ..diagnosis.of_run import FOUND, FindingLines
from ..runs.folder import LOG, RunFolder, watched_runs
from ..runs.last_telemetry import write_telemetry
from ..runs.removal import check_removal, remove
from ..telemetry.findings import Finding
from ..telemetry.throughput import RATE_NAMES

MOST_RUNS, MOST_BYTES = 200, 512 * MIB
"""The most runs of watched scripts that are kept, and their most bytes; older ones are removed."""
MOST_OUTPUT = 4 * MIB
LINES = 2000
"""Lines of metrics in the first hour or so; later, a line for each further share of the time, see `KeptRun.add`."""
PERIOD = 10.0  # s between two writings of run.json
PACKAGES = ("numpy", "torch", "gymnasium", "gym", "stable_baselines3", "pettingzoo", "jax", "tensorflow")


class KeptRun:
    """The run of a watched script. What cannot be written is left out; nothing is raised.

    Args:
        name: The name of the session.
        task: What the environments are called.
        keep: Whether to keep one.

    Attributes:
        folder: The run's folder; None if no run is kept.
        problem: Why none is kept, although one was to be; empty if there is no reason.
    """

    def __init__(self, name: str, task: str, *, keep: bool) -> None:
        self.folder: RunFolder | None = None
        self.problem = ""
        parent = watched_runs() if keep else None
        self._started = self._written = time.time()
        self._lines: deque[Mapping[str, Any]] = deque()  # appended by one thread, taken by another: both are atomic
        self._pending: dict[str, Any] = {}
        self._findings = FindingLines()
        self._due = 0.0
        # The stepping thread replaces these counts as a whole; the facts belong to the thread that writes.
        self._counts: Mapping[str, Any] = {}
        self._facts: dict[str, Any] = {}
        self._has_room = False
        if parent is None:
            return
        try:
            self.folder = RunFolder.create(parent, f"{name}-{time.strftime('%m%d-%H%M%S')}")
            self.folder.claim()
        except (OSError, PacError):
            self.folder, self.problem = None, f"no run of this script is kept: {parent} cannot be written to"
            return
        self._facts = {"id": self.folder.name, "task": task, "trainer": "script", "started": self._started}
        self._facts["config"] = _circumstances()
        self.folder.write_initial_metadata(self._facts)

    @property
    def path(self) -> str:
        """The run's folder; empty without one."""
        return "" if self.folder is None else str(self.folder.path.resolve())

    def add(
        self,
        row: Mapping[str, float],
        totals: Mapping[str, Any],
        seconds: float,
        num_envs: int,
        findings: tuple[Finding, ...],
    ) -> None:
        """Keep the metrics of an iteration.

        The longer a script runs, the rarer are lines of metrics, each with the newest value of everything since the
        last one.

        Args:
            row: The metrics.
            totals: What was counted so far.
            seconds: Seconds of training so far.
            num_envs: Number of environments N.
            findings: What is wrong with the training, and what was.
        """
        if self.folder is None:
            return
        metrics = {**totals, "seconds": round(seconds, 3), **dict.fromkeys(RATE_NAMES)}
        self._pending |= {**metrics, **row}
        self._lines.extend(self._findings.take(findings, totals, seconds))
        found = [finding.as_json() for finding in findings]
        self._counts = {"num_envs": num_envs, **totals, "return_mean": row.get("return_mean"), FOUND: found}
        if seconds >= self._due:
            self._lines.append(self._pending)
            self._pending, self._due = {}, seconds + seconds / LINES

    def write(self) -> None:
        """Write what was added; called by one thread at a time."""
        folder = self.folder
        if folder is None:
            return
        with suppress(OSError):  # the next line may fit again
            while self._lines:
                folder.append_metrics(self._lines.popleft())
            if time.time() >= self._written + PERIOD:
                self._save("running")
                self._make_room(folder)

    def _save(self, state: str, **more: Any) -> None:
        assert self.folder is not None
        self._written = time.time()
        self._facts |= {**self._counts, "state": state, "written": self._written, **more}
        self.folder.write_metadata(self._facts)

    def _make_room(self, folder: RunFolder) -> None:
        if not self._has_room:
            self._has_room = True
            make_room(folder)

    def close(self, state: str, error: str, telemetry: Segment, output: str | None) -> None:
        """Write the rest, once no other thread writes: the last state, and the end of the output.

        Args:
            state: `completed`, `interrupted` or `failed`.
            error: Which exception has ended the script; empty if none has.
            telemetry: Its newest segment.
            output: The file with the script's output; None if it is on a terminal.
        """
        folder = self.folder
        if folder is None:
            return
        if self._pending:
            self._lines.append(self._pending)
        self.write()
        with suppress(OSError):
            self._save(state, **({"error": error} if error else {}))
            write_telemetry(folder, telemetry.path.name, telemetry.map)
            if output is not None:
                _copy_end(Path(output), folder)
            if len(os.listdir(folder.path.parent)) > MOST_RUNS:  # noqa: PTH208 - only their number; of short scripts, too
                self._make_room(folder)
        folder.release()
        self.folder = None

    def forget(self) -> None:
        """Write nothing in a fork of the watched process."""
        if self.folder is not None:
            self.folder.release()
            self.folder = None


def make_room(newest: RunFolder) -> None:
    """Remove the oldest runs of watched scripts that are too many or too large, but none that is running."""
    room, count = MOST_BYTES, 0
    for run in reversed(RunFolder.all(newest.path.parent)):
        with suppress(OSError, PacError):
            found = check_removal(run.path.parent, run.name)
            room, count = room - found.size, count + 1
            if (room < 0 or count > MOST_RUNS) and run.name != newest.name:
                found.run.claim()
                remove(found.run)


def _copy_end(output: Path, folder: RunFolder) -> None:
    """Copy the end of a script's output into its run's folder."""
    with (
        output.open("rb") as source,
        os.fdopen(folder.entry(LOG).open(os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as kept,
    ):
        source.seek(max(0, source.seek(0, os.SEEK_END) - MOST_OUTPUT))
        shutil.copyfileobj(source, kept)


def _circumstances() -> dict[str, Any]:
    """Return how and where the script was started, and with which versions."""
    names = {name: sys.modules.get(name) for name in PACKAGES}
    versions = {name: str(getattr(module, "__version__", "")) for name, module in names.items() if module is not None}
    found = {
        "arguments": list(sys.argv),
        "cwd": str(Path.cwd()),
        "python": platform.python_version(),
        **versions,
        "settings": {},
    }
    if commit := _commit(Path(sys.argv[0] if sys.argv else ".").absolute().parent):
        found["commit"] = commit
    return found


def _commit(folder: Path) -> str:
    """Return the git commit that is checked out in a folder; empty if it is in no repository."""
    with suppress(OSError, ValueError):
        git = next((each / ".git" for each in (folder, *folder.parents) if (each / ".git").exists()), None)
        if git is None:
            return ""
        if git.is_file():  # of a worktree
            git = (git.parent / git.read_text().removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref:"):
            return head[:40]
        name = head.removeprefix("ref:").strip()
        common = git / "commondir"
        shared = (git / common.read_text().strip()).resolve() if common.exists() else git
        if (shared / name).exists():
            return (shared / name).read_text().strip()[:40]
        for line in (shared / "packed-refs").read_text().splitlines():
            if line.endswith(f" {name}"):
                return line[:40]
    return ""
