"""Run folders: `runs/NAME/` with `run.json`, `metrics.jsonl`, `session.log` and `checkpoints/`.

Beside them stand `episodes/` that were recorded, and perhaps `last/`.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from ...envs import BadParameter, PacError, UnknownName

CARD = "run.json"
METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
EPISODES = "episodes"
LOG = "session.log"
LAST = "last"
CLAIM = ".claim"
LATEST = "latest"
LONGEST_NAME = 40  # letters of a task's name in a run's
CARD_TYPES = {
    **dict.fromkeys(("task", "trainer", "state"), str),
    **dict.fromkeys(("num_envs", "steps", "frames", "episodes"), int),
    "started": int | float,
    "config": dict,
}
USUAL_LINE = 512  # bytes of a line of metrics


class RunFolderError(PacError):
    """A run folder cannot be made or read."""

    title = "Run folder"


class RunFolder:
    """One run on disk.

    Args:
        path: Its folder.
        first: Whether the folder of all runs was made for it.

    Attributes:
        path: The folder.
        name: Its name.
    """

    def __init__(self, path: Path, *, first: bool = False) -> None:
        self.path = path
        self.name = path.name
        self._first = first
        self._claim: TextIO | None = None

    @classmethod
    def create(cls, parent: Path, name: str) -> RunFolder:
        """Make `parent/name`, or `name-2`, `name-3`, ... if that is taken.

        Raises:
            RunFolderError: The folder cannot be made.
        """
        first = not parent.exists()
        for attempt in range(1, 10_000):
            path = parent / (name if attempt == 1 else f"{name}-{attempt}")
            try:
                path.mkdir(parents=True)
                (path / CHECKPOINTS).mkdir()
            except FileExistsError:
                if not parent.is_dir():
                    raise RunFolderError(
                        f"runs are kept in a folder, and {parent} is none: choose another --runs-dir"
                    ) from None
                continue
            except OSError as error:
                raise RunFolderError(f"cannot make {path}: {error.strerror}; choose another --runs-dir") from error
            return cls(path, first=first)
        raise RunFolderError(f"{parent / name} and 9,999 more are taken: choose another --name")

    @classmethod
    def find(cls, parent: Path, name: str) -> RunFolder:
        """Return the run called `name`, or the one in that folder; `latest` is the one that saved last.

        Raises:
            UnknownName: There is none; the known ones are listed.
            BadParameter: There are no runs at all.
        """
        for path in (Path(name), parent / name):
            if (path / CARD).is_file():
                return cls(path.resolve())
        runs = cls.all(parent)
        saved = [run for run in runs if run.saved]
        if name == LATEST and saved:
            return saved[-1]
        known = [run.name for run in runs]
        if not known:
            raise BadParameter(f"unknown run {name!r}: {parent} holds no runs yet; `pac-tui run` begins one")
        raise UnknownName("run", name, known)

    @classmethod
    def all(cls, parent: Path) -> list[RunFolder]:
        """Return the runs below `parent`, the newest last."""
        cards = parent.glob(f"*/{CARD}") if parent.is_dir() else []
        return [cls(card.parent) for card in sorted(cards, key=lambda card: card.stat().st_mtime)]

    def claim(self) -> None:
        """Be the one who writes into this run, until `release` or the end of the process, however it ends.

        Raises:
            BadParameter: Somebody else is.
        """
        try:
            file = (self.path / CLAIM).open("a+")
        except OSError:  # a disk that cannot be written to: what is written later tells
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            pid = file.read().strip()
            file.close()
            raise BadParameter(
                f"{self.name} is being trained by process {pid or '(just starting)'}: `pac-tui attach {self.name}` "
                "shows it; stop it first"
            ) from None
        except OSError:  # a file system without locks
            file.close()
            return
        with suppress(OSError):
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        self._claim = file

    def drop_if_empty(self) -> None:
        """Remove the folder if nothing was ever written there."""
        with suppress(OSError):
            if {path.name for path in self.path.iterdir()} <= {CLAIM, CHECKPOINTS}:
                self.checkpoints.rmdir()
                self.drop()

    def drop(self) -> None:
        """Remove the folder, and the one of all runs if it was made for this one."""
        with suppress(OSError):
            shutil.rmtree(self.path)
            if self._first:
                self.path.parent.rmdir()

    def release(self) -> None:
        """Let others write into this run."""
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints stand."""
        return self.path / CHECKPOINTS

    @property
    def saved(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return any(self.checkpoints.glob("step-*"))

    @property
    def last(self) -> Path:
        """Where the last telemetry of a session that died stands, if one did."""
        return self.path / LAST

    @property
    def episodes(self) -> Path:
        """Where recorded episodes stand."""
        return self.path / EPISODES

    @property
    def log(self) -> Path:
        """What the session printed."""
        return self.path / LOG

    def card(self) -> dict[str, Any]:
        """Return what `run.json` says.

        Raises:
            RunFolderError: It is not readable JSON, or no run's.
        """
        path = self.path / CARD
        try:
            card = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise RunFolderError(f"{path} cannot be read ({error}): remove the run or restore the file") from error
        found = card if isinstance(card, dict) else {"state": card}
        wrong = [name for name, kind in CARD_TYPES.items() if name in found and not isinstance(found[name], kind)]
        if wrong:
            raise RunFolderError(f"{path} is no run's, by its {wrong[0]}: remove the run or restore the file")
        return found

    def write_card(self, card: Mapping[str, Any]) -> None:
        """Write `run.json`, whole or not at all; a number that is none is null there."""
        known = {key: None if value != value else value for key, value in card.items()}  # noqa: PLR0124
        beside = self.path / f".{CARD}"
        beside.write_text(json.dumps(known, indent=2, default=str) + "\n")
        beside.replace(self.path / CARD)

    def metrics(self) -> list[dict[str, float]]:
        """Return the lines of `metrics.jsonl`, without what a crash cut short and what was lost until a resume."""
        path = self.path / METRICS
        if not path.is_file():
            return []
        with path.open("rb") as file:
            return _rows(file)

    def some_metrics(self, count: int) -> list[dict[str, float]]:
        """Return about `count` lines of `metrics.jsonl`, evenly spaced, the last one too; all of a short file."""
        path = self.path / METRICS
        size = path.stat().st_size if path.is_file() else 0
        if size <= count * USUAL_LINE:
            return self.metrics()
        lines = []
        with path.open("rb") as file:
            for place in (*range(0, size - 1, size // count), max(0, size - 2 * USUAL_LINE)):
                file.seek(place)
                if place:
                    file.readline()
                lines.append(file.readline())
        return _rows(lines)

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Append one line to `metrics.jsonl`; a full disk loses lines, never the run."""
        line = json.dumps({key: value for key, value in row.items() if value == value}) + "\n"  # noqa: PLR0124
        descriptor = os.open(self.path / METRICS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def _rows(lines: Iterable[bytes]) -> list[dict[str, float]]:
    """Return lines of metrics, without iterations that were made again by a session that resumed the run."""
    kept: list[dict[str, float]] = []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict) or not all(isinstance(value, int | float) for value in row.values()):
            continue
        while kept and kept[-1].get("iterations", -1) >= row.get("iterations", math.inf):
            kept.pop()
        kept.append(row)
    return kept


def new_name(task: str, trainer: str) -> str:
    """Return a run name such as `drmario-ppo-1121-060512`, for a task's name or title."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in task[:LONGEST_NAME]).strip("-").lower()
    return f"{plain}-{trainer}-{time.strftime('%m%d-%H%M%S')}"
