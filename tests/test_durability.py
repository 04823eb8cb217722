"""Whatever writes a file that must last: flushed before it gets its name, replaced in one step, whole after any end."""

import json
from collections.abc import Callable
from contextlib import chdir
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pac.backends.workers.worker import report
from pac.envs import find
from pac.envs.files import create_next
from pac.envs.gameboy.cartridge import own_bytes, read_cartridge
from pac.envs.gameboy.games import BUTTONS
from pac.envs.gameboy.handheld import GameFiles
from pac.envs.poker.cards.store import PARTIAL, cached_arrays, opened
from pac.training.past import episode_file
from pac.training.past.episode import Episode, RecordedStep
from pac.training.runs import checkpoint, metadata, metrics
from pac.tui import preferences, preferences_file
from pac.tui.app import curve_commands
from pac.tui.curve_options import CurveOptions

from .file_calls import FileCalls

THEMES = ("dark", "light", "colorblind")
SIZE = 20_000  # bytes: more than a buffer of Python has


LEFT = (PARTIAL, ".part")


class Writer(NamedTuple):
    """Writes content number `n` into a folder; reads the number back, 0 if there is none, an error if it is mixed."""

    write: Callable[[Path, int], Any]
    read: Callable[[Path], int]
    absent: bool = False  # whether an interruption may leave nothing, since it can be made again
    parts: bool = False  # whether it writes several files, some of which may be left
    lasting: bool = True  # whether it must be on the disk
    folder: bool = False  # whether the folder is flushed, too


def read_curves(_folder):
    return int(max(curve_commands.load_curves(CurveOptions()).hidden, default="0"))


def write_episode(folder, n):
    steps = (RecordedStep(None, 0.0, {"reward": "0" * SIZE}),)
    episode_file.write(folder / "episode.jsonl", Episode(find("noop"), n, 0, 0, "run", replays=True, steps=steps))


def read_episode(folder):
    file = folder / "episode.jsonl"
    return episode_file.read(file).seed if file.exists() else 0


def read_checkpoint(folder):
    try:
        found = checkpoint.load_newest(folder)
    except checkpoint.NoCheckpoint:
        assert not [*folder.glob("step-*")]
        return 0
    assert not found.skipped
    assert (found.tensors["w"] == found.data["n"]).all()
    return found.data["n"]


def save_checkpoint(folder, step, n):
    checkpoint.save(folder, step, {"w": np.full(SIZE, n, "u1")}, {"n": n})


def save_best(folder, n):
    checkpoint.save(folder, n, {"w": np.full(SIZE, n, "u1")}, {"n": n}, best=checkpoint.Best("return", n, only=True))


def read_best(folder):
    found = checkpoint.best_of(folder)
    if found is None:
        assert not [*folder.glob("step-*")]
        return 0
    loaded = checkpoint.load_newest(folder, choice="best")
    assert (loaded.path.name, loaded.data["n"]) == (found[0], found[1].value)
    return read_checkpoint(folder)


def read_arrays(folder):
    try:
        return int(opened(folder / "arrays")["w"][-1])
    except FileNotFoundError:
        return 0


def read_metrics(folder):
    rows = metrics.read(folder).rows
    assert [row["iterations"] for row in rows] == [*range(1, 1 + len(rows))]
    return len(rows)


def read_states(folder):
    files = [path.read_bytes() for path in folder.glob("state-*.bin")]
    return max((data[0] for data in files if len(data) == SIZE), default=0)  # a shorter one is no state


def game_files(folder):
    rom = folder.with_suffix(".gb")
    rom.write_bytes(own_bytes("catch"))
    return GameFiles(read_cartridge(rom), "", "catch")


def write_game(folder, n):
    with chdir(folder):
        game_files(folder).save_game(BUTTONS[:n])


def read_game(folder):
    rom = folder / "catch.gb"
    assert not rom.exists() or rom.read_bytes() == own_bytes("catch")
    texts = [path.read_text() for path in folder.glob("*.yaml")]
    return max((n for n in (1, 2) if game_files(folder).text(BUTTONS[:n]) in texts), default=0)


def read_report(folder):
    file = folder / "report.json"
    return int(json.loads(file.read_text())["reason"].split()[1]) if file.exists() else 0


WRITERS = {
    "preferences": Writer(
        lambda folder, n: preferences_file.save(folder / "config.toml", {("", "theme"): THEMES[n]}),
        lambda folder: THEMES.index(preferences.read(folder / "config.toml").theme),
    ),
    "curves": Writer(lambda _, n: curve_commands.save_curves(CurveOptions(hidden=frozenset({str(n)}))), read_curves),
    "run.json": Writer(
        lambda folder, n: metadata.write(folder, {"steps": n, "text": "a" * SIZE}),
        lambda folder: metadata.read(folder)["steps"] if (folder / metadata.FILE).exists() else 0,
    ),
    "episode": Writer(write_episode, read_episode),
    "checkpoint": Writer(lambda folder, n: save_checkpoint(folder, n, n), read_checkpoint, folder=True),
    "the same checkpoint": Writer(lambda folder, n: save_checkpoint(folder, 7, n), read_checkpoint, folder=True),
    "the best checkpoint": Writer(save_best, read_best, folder=True),
    "arrays": Writer(
        lambda folder, n: cached_arrays(folder / "arrays", {"n": str(n)}, lambda: {"w": np.full(SIZE, n)}),
        read_arrays,
        absent=True,
        parts=True,
        folder=True,
    ),
    "metrics": Writer(lambda folder, n: metrics.append(folder, {"iterations": n}), read_metrics, lasting=False),
    "state": Writer(lambda folder, n: create_next(folder, "state", ".bin", bytes([n]) * SIZE), read_states),
    "game": Writer(write_game, read_game, parts=True),
    "report": Writer(
        lambda folder, n: report(folder / "report.json", ValueError(f"{n} {'a' * SIZE}")), read_report, lasting=False
    ),
}


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def new(tmp_path, monkeypatch):
    """Return what makes the next folder, which is also that of the user's preferences."""
    numbers = count()

    def made():
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        monkeypatch.setattr(curve_commands, "path", lambda: folder / "config.toml")
        return folder

    return made


@pytest.mark.parametrize("before", [0, 1], ids=["new", "replaced"])
@pytest.mark.parametrize("name", WRITERS)
def test_what_gets_its_name_is_on_the_disk(new, name, before):
    """All of it was flushed before, and the folder with the name afterwards if that is promised."""
    folder, writer = new(), WRITERS[name]
    for n in range(1, 1 + before):
        writer.write(folder, n)
    with FileCalls(folder) as recorded:
        writer.write(folder, 1 + before)
    assert writer.read(folder) == 1 + before
    if writer.lasting:
        assert not recorded.unflushed
        assert "fsync" in dict(recorded.calls)
    if writer.folder:
        last = max(at for at, (call, path) in enumerate(recorded.calls) if call in {"rename", "replace"})
        assert ("fsync", ".") in recorded.calls[last:]


@pytest.mark.parametrize("kill", [False, True], ids=["error", "kill"])
@pytest.mark.parametrize("before", [0, 1], ids=["new", "replaced"])
@pytest.mark.parametrize("name", WRITERS)
def test_an_interruption_at_any_call_leaves_the_old_or_the_new_whole(new, name, before, kill):
    """A write that fails leaves nothing behind; after a kill, the next write works and tidies up."""
    writer = WRITERS[name]
    for stop in count():
        folder = new()
        for n in range(1, 1 + before):
            writer.write(folder, n)
        had = names(folder)
        with FileCalls(folder, stop, kill=kill) as recorded:
            writer.write(folder, 1 + before)
        found = writer.read(folder)
        if stop >= len(recorded.calls):
            assert found == 1 + before
            return
        assert found in {before, 1 + before, 0 if writer.absent else before}, recorded.calls
        if not kill and writer.lasting and recorded.calls[stop][0] not in {"unlink", "rmdir"}:
            left = {each for each in names(folder) - had if each.startswith(".") or each.endswith(LEFT)}
            assert not left or recorded.calls[stop] == ("fsync", "."), recorded.calls
            assert found > before or writer.parts or names(folder) == had
        following = found + 1 if name == "metrics" else 2
        writer.write(folder, following)
        assert writer.read(folder) == following, recorded.calls
        assert not [each for each in names(folder) if each.startswith(".") or each.endswith(LEFT)], recorded.calls


def test_a_checkpoint_that_was_not_replaced_after_all_keeps_its_place(new):
    """Also if the next one that is written is another."""
    for stop in count():
        folder = new()
        save_checkpoint(folder, 7, 1)
        with FileCalls(folder, stop, kill=True) as recorded:
            save_checkpoint(folder, 7, 2)
        save_checkpoint(folder, 8, 3)
        assert names(folder) == {"step-000000000007", "step-000000000008"}, recorded.calls
        if stop >= len(recorded.calls):
            return
