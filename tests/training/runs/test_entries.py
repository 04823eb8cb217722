"""Whatever stands in a run's folder instead of an entry, nothing outside is read or changed, and nothing waits."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from pac.backends.system.segment import new_directory
from pac.envs import PacError, find
from pac.envs.entries import FolderEntry
from pac.envs.files import create_next
from pac.training.config import Config
from pac.training.logs import Logs
from pac.training.past.episode import Episode, RecordedStep
from pac.training.past.recorder import EpisodeRecorder
from pac.training.runs import checkpoint
from pac.training.runs.folder import CHECKPOINTS, EPISODES, FILES, FOLDERS, LAST, LOG, STATES, WORKERS, RunFolder
from pac.training.runs.last_telemetry import keep_last_telemetry
from pac.training.runs.metrics import read_curves
from pac.training.runs.overview import overviews
from pac.training.runs.removal import NotRemovable, check_removal, remove
from pac.training.runs.sessions import find_session
from pac.training.runs.worker_output import WorkerOutput
from pac.training.session.session import Session
from pac.training.telemetry.blocks import TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.telemetry.events import EventLog

from ...toys import FACTS

STEP = "step-000000000001"
SECRET = "not of this run"
INNER = {
    CHECKPOINTS: (STEP, f"{STEP}/{checkpoint.TENSORS}", f"{STEP}/{checkpoint.DATA}"),
    EPISODES: ("best.jsonl",),
    STATES: ("env1-step1-1.bin",),
    LAST: ("telemetry.0",),
}
"""What is in the folders of a run."""
KINDS = ("link to a file", "link to a folder", "link to nothing", "FIFO", "device", "folder", "file")
ENTRIES = sorted(FILES | FOLDERS | {f"{folder}/{name}" for folder, names in INNER.items() for name in names})


def write_episode(run: RunFolder) -> None:
    recorder = EpisodeRecorder(find("noop"), 0, run.name, run.entry(EPISODES), EventLog())
    steps = (RecordedStep(None, 0.0, {}),)
    recorder._write(recorder._folder / "best.jsonl", Episode(find("noop"), 0, 0, 0, "run", replays=True, steps=steps))
    recorder._recorded_return("best")


def write_state(run: RunFolder) -> None:
    run.entry(STATES).mkdir()
    create_next(run.entry(STATES), "env1-step1", ".bin", b"state")


def write_output(run: RunFolder) -> None:
    (run.path.parent / "fleet-1-0.log").write_text("printed\n")
    WorkerOutput(run.path.parent, run.entry(WORKERS)).copy()


def rename_output(run: RunFolder) -> None:
    write_output(run)
    run.entry(WORKERS).rename(f"{WORKERS}.1")


def keep_telemetry(run: RunFolder) -> None:
    directory = new_directory()
    task = find("noop")
    writer = TelemetryWriter(describe(task, **FACTS, folder=str(run.path)), 4, 1, directory)
    keep_last_telemetry(directory)
    writer.unlink()


def claim(run: RunFolder) -> None:
    run.claim()
    run.release()


def rewrite_metadata(run: RunFolder) -> None:
    run.metadata()
    run.write_metadata({"task": "noop", "trainer": "random"})


def read(run: RunFolder) -> None:
    run.read_metrics()
    run.sample_metrics(2)
    assert run.written
    assert not run.saved or checkpoint.load_newest(run.entry(CHECKPOINTS))


ACTIONS: dict[str, Callable[[RunFolder], object]] = {
    "claim": claim,
    "metadata": rewrite_metadata,
    "write metadata": lambda run: run.write_metadata({"task": "noop", "trainer": "random"}),
    "metrics": lambda run: run.append_metrics({"steps": 1}),
    "read": read,
    "save": lambda run: checkpoint.save(run.entry(CHECKPOINTS), 2, {"w": np.ones(2)}, {}, keep=1),
    "save again": lambda run: checkpoint.save(run.entry(CHECKPOINTS), 1, {"w": np.ones(2)}, {}),
    "load": lambda run: checkpoint.load_newest(run.entry(CHECKPOINTS)),
    "episode": write_episode,
    "state": write_state,
    "output": write_output,
    "rename output": rename_output,
    "log": lambda run: os.close(run.entry(LOG).open(os.O_WRONLY | os.O_CREAT | os.O_APPEND)),
    "read log": lambda run: Logs(run.path.parent, str(run.path)).read(),
    "keep telemetry": keep_telemetry,
    "overview": lambda run: overviews(run.path.parent),
    "curves": lambda run: read_curves(run.path),
    "attach": lambda run: find_session(str(run.path), run.path.parent),
    "remove": lambda run: remove(check_removal(run.path.parent, run.name).run),
    "remove if empty": lambda run: run.remove_if_empty(),
}


def contents(folder: Path) -> dict[str, object]:
    return {str(path.relative_to(folder)): path.is_dir() or path.read_bytes() for path in sorted(folder.rglob("*"))}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run with a checkpoint, beside another folder that has the same."""
    run = RunFolder.create(tmp_path / "runs", "a")
    run.write_metadata({"task": "noop", "trainer": "random"})
    checkpoint.save(run.checkpoints, 1, {"w": np.zeros(2)}, {})
    other = tmp_path / "other"
    other.mkdir()
    for name in ("file", *sorted(FILES)):
        (other / name).write_text(SECRET)
    checkpoint.save(other / CHECKPOINTS, 1, {"w": np.zeros(2)}, {})
    return run


def put(kind: str, at: Path, other: Path) -> None:
    """Replace an entry."""
    at.parent.mkdir(exist_ok=True, parents=True)
    FolderEntry(at.parent, at.name).discard()
    if kind == "link to a file":
        at.symlink_to(other / "file")
    elif kind == "link to a folder":
        at.symlink_to(other / CHECKPOINTS if at.name == CHECKPOINTS else other, target_is_directory=True)
    elif kind == "link to nothing":
        at.symlink_to(other / "new")
    elif kind == "FIFO":
        os.mkfifo(at)
    elif kind == "device":
        try:
            os.mknod(at, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero, which has no end
        except PermissionError:
            pytest.skip("only root can make a device")
    elif kind == "folder":
        at.mkdir()
    else:
        at.write_text(SECRET)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        pytest.param(entry, kind, marks=[] if (number + other) % len(KINDS) == 0 else [pytest.mark.thorough])
        for number, entry in enumerate(ENTRIES)
        for other, kind in enumerate(KINDS)
    ],
)
def test_nothing_else_is_reached_through_an_entry(run, entry, kind, tmp_path):
    """Every action ends, as usual or with an error that says what is wrong."""
    before = contents(tmp_path / "other")
    for name, act in ACTIONS.items():
        if not run.path.exists():
            break
        put(kind, run.path / entry, tmp_path / "other")
        with suppress(PacError, OSError):
            act(RunFolder(run.path))
        assert contents(tmp_path / "other") == before, name


@pytest.mark.parametrize("name", [CHECKPOINTS, STEP])
def test_a_checkpoint_is_not_loaded_through_a_link(run, tmp_path, name):
    """Neither all of them nor one; the error says so."""
    at = run.checkpoints if name == CHECKPOINTS else run.checkpoints / STEP
    FolderEntry(at.parent, at.name).remove()
    at.symlink_to(tmp_path / "other" / CHECKPOINTS / ("" if name == CHECKPOINTS else STEP))
    with pytest.raises(checkpoint.NoCheckpoint, match="is a link" if name == CHECKPOINTS else "contains none"):
        checkpoint.load_newest(run.entry(CHECKPOINTS))


def test_entries_are_reached_through_the_folder_that_was_claimed(run, tmp_path):
    """Also after another folder got its path."""
    run.claim()
    run.path.rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "other", run.path)
    before = contents(run.path)
    run.append_metrics({"steps": 1})
    checkpoint.save(run.entry(CHECKPOINTS), 2, {"w": np.ones(2)}, {}, keep=1)
    with pytest.raises(NotRemovable, match="another folder has its path"):
        remove(run)
    assert contents(run.path) == before
    assert [path.name for path in (tmp_path / "moved" / CHECKPOINTS).iterdir()] == ["step-000000000002"]
    run.release()


BELOW: list[Path] = []
"""The run whose paths must not be used, if any."""
USED: list[str] = []


def _note_paths(event: str, arguments: tuple[object, ...]) -> None:
    if BELOW and event in {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir"}:
        texts = [os.fsdecode(one) for one in arguments[:2] if isinstance(one, str | bytes)]
        USED.extend(f"{event} {text}" for text in texts if BELOW[0] in Path(text).parents)


sys.addaudithook(_note_paths)


@pytest.mark.parametrize(
    "name", sorted(ACTIONS.keys() - {"attach"})
)  # which reads telemetry after it has checked the folder
def test_no_path_below_a_run_is_used(run, name):
    """What is added to a run's folder later is reached through its descriptor, too."""
    BELOW.append(run.path)
    try:
        with suppress(PacError):
            ACTIONS[name](RunFolder(run.path))
    finally:
        BELOW.clear()
    found = USED.copy()
    USED.clear()
    assert found == []


@pytest.mark.session
def test_a_session_uses_no_path_below_its_run(tmp_path):
    """From the start to a second session that resumes it, with checkpoints, episodes and output of workers."""
    BELOW.append(tmp_path / "run")
    try:
        for options in ({"name": "run", "steps": 256}, {"resume": "run", "steps": 512}):
            config = Config(task="noop", trainer="random", num_envs=2, backend="inline", runs_dir=tmp_path, **options)
            Session(config, new_directory(), headless=True).run()
    finally:
        BELOW.clear()
    found = USED.copy()
    USED.clear()
    assert found == []
    assert {path.name for path in (tmp_path / "run").iterdir()} <= FILES | FOLDERS
