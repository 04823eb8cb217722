"""Run folders: `runs/NAME/` with `run.json`, `metrics.jsonl`, `session.log` and `checkpoints/`.

There may also be `episodes/`, `states/`, `past/`, `tensorboard/` and `last/`.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...envs import BadParameter, UnknownName
from ...envs.entries import FolderEntry, HeldFolder, out_of_reach
from . import metadata, metrics, notes, tensorboard_log
from .metadata import RunFolderError
from .metrics import Metrics

PLAYING = " (playing)"
"""What follows the name of a run whose policy plays without learning."""
METADATA = metadata.FILE
METRICS = metrics.FILE
CHECKPOINTS = "checkpoints"
EPISODES = "episodes"
STATES = "states"
PAST = "past"
"""The folder of what a paused session was asked for last: the steps around the shown one, and its policy."""
LOG = "session.log"
WORKERS = "workers.log"
LAST = "last"
CLAIM = ".claim"
LATEST = "latest"
STARTED = r"-\d{4}-\d{6}(-\d+)?"
"""What follows the name of a watched script in that of its run: the time of its start."""
WATCHED = "PAC_WATCHED_RUNS"
"""The variable with the folder of watched scripts' runs; if it is empty, they leave none."""
STARTING = "starting"
"""The state of a run before its session trains."""
DIED = "died"
"""The state of a run whose session was killed."""
UNFINISHED = frozenset({STARTING, "running"})
"""The states of a run that is being trained."""
MAX_TASK_LENGTH = 40  # characters of the task's name in a run's name
FILES = frozenset(
    {METADATA, f".{METADATA}", METRICS, notes.FILE, f".{notes.FILE}", LOG, WORKERS, f"{WORKERS}.1", CLAIM}
)
FOLDERS = frozenset({CHECKPOINTS, EPISODES, STATES, PAST, LAST, tensorboard_log.FOLDER})
"""All folders that a run's folder may contain."""


class RunFolder:
    """One run on disk.

    Args:
        held: The folder, which `entry` belongs to even if another one gets its path; at the latest from `claim` on.
    """

    def __init__(self, path: Path, *, first: bool = False, held: HeldFolder | None = None) -> None:
        self.path = path
        self.name = path.name
        self._first = first
        self._claim: int | None = None
        self._held = held

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints. What is in this and the other folders and files is reached by `entry`."""
        return self.path / CHECKPOINTS

    @property
    def episodes(self) -> Path:
        """The folder of recorded episodes."""
        return self.path / EPISODES

    @property
    def states(self) -> Path:
        """The folder of states that viewers have saved."""
        return self.path / STATES

    @property
    def last(self) -> Path:
        """The folder of the last telemetry of a session that died."""
        return self.path / LAST

    @property
    def log(self) -> Path:
        """The file with what the session printed."""
        return self.path / LOG

    @classmethod
    def create(cls, parent: Path, name: str) -> RunFolder:
        """Create `parent/name`, or `name-2`, `name-3`, ... if that exists.

        Raises:
            RunFolderError: The folder cannot be created.
        """
        first = not parent.exists()
        for attempt in range(1, 10_000):
            path = parent / (name if attempt == 1 else f"{name}-{attempt}")
            try:
                path.mkdir(parents=True)
                run = cls(path, first=first)
                run.entry(CHECKPOINTS).mkdir()
            except FileExistsError:
                if not parent.is_dir():
                    raise RunFolderError(
                        f"--runs-dir expects a folder, and {parent} is not one: choose another"
                    ) from None
                continue
            except OSError as error:
                raise RunFolderError(f"cannot create {path}: {error.strerror}; choose another --runs-dir") from error
            return run
        raise RunFolderError(f"{parent} already has 9,999 runs called {name}: choose another --name")

    @classmethod
    def find(cls, parent: Path, name: str) -> RunFolder:
        """Return the run called `name`, or the one in that folder; `latest` is the one that saved last.

        The name of a watched script is that of its newest run.

        Raises:
            UnknownName: There is no such run; the known ones are listed.
            BadParameter: There are no runs at all.
        """
        watched = watched_runs() or parent
        for path in (Path(name), parent / name, watched / name):
            if is_run(path):
                return cls(path.resolve())
        scripts = [run for run in cls.each(watched) if re.fullmatch(re.escape(name) + STARTED, run.name)]
        if scripts:
            return max(scripts, key=lambda run: run.written)
        runs = cls.all(parent)
        saved = [run for run in runs if run.saved]
        if name == LATEST and saved:
            return saved[-1]
        known = [run.name for run in runs]
        if not known:
            raise BadParameter(f"unknown run {name!r}: {parent} contains no runs yet; `pac-tui run` starts one")
        raise UnknownName("run", name, known)

    @classmethod
    def all(cls, parent: Path) -> list[RunFolder]:
        """Return the runs below `parent`, the newest last."""
        return sorted(cls.each(parent), key=lambda run: run.written)

    @classmethod
    def each(cls, parent: Path) -> list[RunFolder]:
        """Return the runs below `parent`, in any order."""
        return [cls(path) for path in parent.iterdir() if is_run(path)] if parent.is_dir() else []

    def entry(self, *names: str) -> FolderEntry:
        """Return what has a name in this run, or in a folder of it; no link is followed."""
        return FolderEntry(self.path, *names, held=self._held)

    def claim(self) -> None:
        """Become the only writer of this run, until `release` or the end of the process.

        Raises:
            BadParameter: Another process is writing into it.
            RunFolderError: The folder cannot be written to.
        """
        try:
            self._held = self._held or self.entry().hold()
            # Only its owner may open it: whoever can open a file can lock it.
            descriptor = out_of_reach(self.entry(CLAIM).open(os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise RunFolderError(
                f"cannot write into {self.path}: {error.strerror}; to train or remove a run, you must own its files, "
                "and its disk must be writable"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.read(descriptor, 32).decode(errors="replace").strip()
            os.close(descriptor)
            raise BadParameter(
                f"{self.name} is being trained by process {pid or '(just starting)'}: "
                f"`pac-tui attach {shlex.quote(self.name)}` shows it; stop it first"
            ) from None
        except OSError:  # a file system without locks
            os.close(descriptor)
            return
        with suppress(OSError):
            os.truncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            os.fchmod(descriptor, 0o600)  # of a run of an older version
        self._claim = descriptor

    def write_initial_metadata(self, facts: Mapping[str, Any]) -> None:
        """Write the first `run.json` of a new run, which lists of runs contain from now on. Ignores a full disk."""
        with suppress(OSError):
            self.write_metadata({**facts, "state": STARTING})

    def remove_if_empty(self) -> None:
        """Remove the folder if it has no more than the first `run.json`."""
        with suppress(OSError, RunFolderError):
            names = set(self.entry().names()) - {WORKERS}
            if names <= {CLAIM, CHECKPOINTS} or (
                names <= {CLAIM, CHECKPOINTS, METADATA} and self.metadata().get("state") == STARTING
            ):
                self.entry(CHECKPOINTS).rmdir()
                self.remove()

    def remove(self) -> None:
        """Remove the folder, and the one of all runs if it was made for this one; as far as that is possible."""
        with suppress(OSError):
            self.entry().remove()
            if self._first:
                self.path.parent.rmdir()

    def release(self) -> None:
        """Allow other processes to write into this run."""
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    @property
    def saved(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        with suppress(OSError):
            return bool(self.entry(CHECKPOINTS).names("step-*"))
        return False

    def metadata(self) -> dict[str, Any]:
        """Return the contents of `run.json`.

        Raises:
            RunFolderError: It is missing, cannot be read, was changed, or is not a run's.
        """
        return metadata.read(self.entry())

    def write_metadata(self, facts: Mapping[str, Any]) -> None:
        """Write `run.json`, whole or not at all; a number that is NaN or infinite is null there."""
        metadata.write(self.entry(), facts)

    @property
    def written(self) -> float:
        """When `run.json` was written, or if it is missing, when the folder was changed, in s since the epoch."""
        for path in (f"{self.path}/{METADATA}", self.path):
            with suppress(OSError):
                return os.lstat(path).st_mtime
        return 0.0

    def read_metrics(self) -> Metrics:
        """Return the lines of `metrics.jsonl`, without those that a resume replaced, and how many are damaged."""
        return metrics.read(self.entry())

    def metrics(self) -> list[dict[str, float]]:
        """Return the lines of `metrics.jsonl`, without damaged ones and those that a resume replaced."""
        return self.read_metrics().rows

    def recorded_findings(self) -> list[Any]:
        """Return the findings that `metrics.jsonl` has, as JSON data, each as it was last."""
        return metrics.read_findings(self.entry())

    def sample_metrics(self, count: int) -> list[dict[str, float]]:
        """Return about `count` evenly spaced lines of `metrics.jsonl`, the last included; all lines of a short file."""
        return metrics.sample(self.entry(), count).rows

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Append one line to `metrics.jsonl`; a full disk loses lines, never the run."""
        metrics.append(self.entry(), row)


def watched_runs() -> Path | None:
    """Return the folder of the runs that watched scripts leave; None if they leave none."""
    chosen = os.environ.get(WATCHED)
    if chosen is not None:
        return Path(chosen).resolve() if chosen else None
    return (user_state() / "watched").resolve()


def user_state() -> Path:
    """Return the folder of what is kept for a user beside the runs."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    return Path(state if state.is_absolute() else Path("~/.local/state").expanduser(), "pac-tui")


def is_run(path: Path) -> bool:
    """Whether a folder is a run's: it has a `run.json`, or nothing but what a run has before that is written."""
    try:
        if os.path.lexists(f"{path}/{METADATA}"):  # not as a `Path`: a list of runs may be long
            return True
        names = {entry.name for entry in path.iterdir()}
    except (OSError, ValueError):  # not a folder, not readable, or not even a path
        return False
    return not names.isdisjoint({CLAIM, CHECKPOINTS}) and names <= FILES | FOLDERS


def new_name(task: str, trainer: str) -> str:
    """Return a run name such as `drmario-ppo-1121-060512`, for a task's name or title."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in task[:MAX_TASK_LENGTH]).strip("-").lower()
    return f"{plain}-{trainer}-{time.strftime('%m%d-%H%M%S')}"
