"""Checkpoints are whole or not there at all, and damaged ones are passed over with a sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pac.training.runs.checkpoint import (
    DATA,
    TENSORS,
    Best,
    CheckpointWriter,
    NoCheckpoint,
    best_of,
    lasting_of,
    load_newest,
    save,
)


def write(directory: Path, *steps: int, keep: int = 3) -> list[Path]:
    return [save(directory, step, {"w": np.full(100, step)}, {"episodes": step}, keep=keep) for step in steps]


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    """Arrays, tensors of every layout, and data survive, bit for bit."""
    image = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    tensors: dict[str, Any] = {"a": np.arange(6, dtype=np.int64).reshape(2, 3), "b": image, "c": torch.tensor(3.5)}
    save(tmp_path, 7, tensors, {"n": [1, 2]})
    found = load_newest(tmp_path)
    assert found.step == 7
    assert found.data == {"n": [1, 2]}
    assert found.skipped == ()
    assert np.array_equal(found.tensors["a"], tensors["a"])
    assert torch.equal(torch.as_tensor(found.tensors["b"]), image)
    assert float(found.tensors["c"]) == 3.5


def test_the_newest_is_loaded_and_only_the_last_are_kept(tmp_path: Path) -> None:
    """Of five, the last three stand; the newest one is taken by number, not by text."""
    write(tmp_path, 5, 9, 10, 100, 2_000)
    assert load_newest(tmp_path).step == 2_000
    assert len(list(tmp_path.iterdir())) == 3


def test_newer_ones_that_do_not_verify_drive_no_good_one_out(tmp_path: Path) -> None:
    """A run that went on from before them keeps what it saves."""
    for path in write(tmp_path, 7, 8, 9):
        (path / DATA).unlink()
    (tmp_path / "step-foreign").mkdir()
    write(tmp_path, 2, 3, 4, 5, 6)
    assert load_newest(tmp_path).step == 6
    assert sorted(path.name[-1] for path in tmp_path.iterdir()) == ["4", "5", "6", "7", "8", "9", "n"]


def test_the_best_and_lasting_ones_stay(tmp_path: Path) -> None:
    """There is one best checkpoint; one that was saved only as such is gone when there is a better one."""

    def saved(step: int, **marks: Any) -> list[int]:
        save(tmp_path, step, {"w": np.zeros(1)}, {}, keep=2, **marks)
        return sorted(int(path.name.removeprefix("step-")) for path in tmp_path.iterdir())

    assert saved(1, lasting=True) == [1]
    assert saved(2, best=Best("return", 5.0)) == [1, 2]
    assert saved(3) == [1, 2, 3]
    assert saved(4, best=Best("return", 6.0, only=True)) == [1, 2, 3, 4]
    assert best_of(tmp_path) == ("step-000000000004", Best("return", 6.0, only=True))
    assert saved(5) == [1, 3, 4, 5]
    assert saved(5) == [1, 3, 4, 5]
    assert saved(3, best=Best("return", 7.0, only=True)) == [1, 3, 5]
    assert best_of(tmp_path) == ("step-000000000003", Best("return", 7.0))
    assert [load_newest(tmp_path, choice=choice).step for choice in ("last", "best", "1")] == [5, 3, 1]
    assert lasting_of(tmp_path) == ["step-000000000001"]
    with pytest.raises(NoCheckpoint, match=r"no checkpoint at 4 steps in .*; there are: 1, 3, 5"):
        load_newest(tmp_path, choice="4")
    assert saved(6, replaced=["step-000000000001", "step-000000000003"]) == [5, 6]
    with pytest.raises(NoCheckpoint, match="train with --keep best"):
        load_newest(tmp_path, choice="best")


ZEROS = "/dev/zero"
DAMAGES = [
    (TENSORS, lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "its checksum is wrong"),
    (TENSORS, lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x"), "its checksum is wrong"),
    (TENSORS, lambda path: path.unlink(), "cannot be read"),
    (
        DATA,
        lambda path: path.write_text(path.read_text().replace('"episodes": 2', '"episodes": 3')),
        "its checksum is wrong",
    ),
    (DATA, lambda path: path.write_bytes(path.read_bytes()[:20]), "not JSON"),
    (DATA, lambda path: path.write_text("{}"), "lacks"),
    (DATA, lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99})), "version 99"),
    *(
        (DATA, lambda path, text=text: path.write_text(text), "")
        for text in (
            "[" * 100_000,
            '{"version": 2, "step": 1e999, "sha256": "", "data": {}}',
            f'{{"step": {"9" * 400}}}',
            "[]",
            "x",
        )
    ),
    *(
        (file, lambda path, make=make: (path.unlink(), make(path)), f"{file} cannot be read: it is a")
        for make in (os.mkfifo, lambda path: path.symlink_to(ZEROS), lambda path: path.mkdir())
        for file in (DATA, TENSORS)
    ),
]


@pytest.mark.parametrize(("file", "harm", "sentence"), DAMAGES, ids=range(len(DAMAGES)))
def test_a_damaged_one_is_passed_over_with_a_sentence(tmp_path, file, harm, sentence) -> None:
    """Truncated, flipped, foreign or missing files make the one before be taken; nothing waits for a FIFO."""
    _, newest = write(tmp_path, 1, 2)
    harm(newest / file)
    found = load_newest(tmp_path)
    assert found.step == 1
    assert len(found.skipped) == 1
    assert sentence in found.skipped[0]
    assert newest.name in found.skipped[0]


def test_data_that_lacks_something_is_passed_over(tmp_path) -> None:
    """Its checksum may be right: what is needed is asked for."""
    save(tmp_path, 1, {}, {"counters": {}})
    save(tmp_path, 2, {}, {"counters": []})
    save(tmp_path, 3, {}, {})
    found = load_newest(tmp_path, needed={"counters": dict})
    assert found.step == 1
    assert all("lacks counters" in sentence for sentence in found.skipped)


def test_tensors_with_a_huge_header_are_passed_over(tmp_path, monkeypatch) -> None:
    """It would have to be read into memory as a whole."""
    monkeypatch.setattr("pac.envs.safetensors_file.MAX_HEADER", 100)
    write(tmp_path, 1)
    monkeypatch.setattr("pac.envs.safetensors_file.MAX_HEADER", 10)
    with pytest.raises(NoCheckpoint, match="is not safetensors"):
        load_newest(tmp_path)


def test_none_at_all_is_an_error_that_says_why(tmp_path: Path) -> None:
    """An empty or damaged directory gives one sentence that names it."""
    with pytest.raises(NoCheckpoint, match="contains none"):
        load_newest(tmp_path / "missing")
    (only,) = write(tmp_path, 1)
    (only / DATA).write_bytes(b"")
    with pytest.raises(NoCheckpoint, match="not JSON"):
        load_newest(tmp_path)


KILLED_WHILE_SAVING = """
import itertools, sys, numpy
from pathlib import Path
from pac.training.runs.checkpoint import save
for step in itertools.count(int(sys.argv[2])):
    save(Path(sys.argv[1]), step, {"w": numpy.full(200_000, step)}, {"step": step})
    print(step, flush=True)
"""

KILLED_WHILE_STREAMING = """
import itertools, sys, numpy
from pathlib import Path
from pac.training.runs import streamed_array
from pac.training.runs.checkpoint import CheckpointWriter
streamed_array.SLICE_BYTES = 1 << 16
table = numpy.zeros(200_000)
saver = CheckpointWriter(Path(sys.argv[1]), lambda step, error: print(step, flush=True))
for step in itertools.count(int(sys.argv[2])):
    table[:] = step
    saver.save(step, {"w": streamed_array.StreamedArray(table)}, {"step": step})
    while saver.streaming:
        saver.feed()
    saver.wait()
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("script", [KILLED_WHILE_SAVING, KILLED_WHILE_STREAMING], ids=["copied", "streamed"])
def test_a_kill_at_any_moment_costs_the_one_being_written_at_most(tmp_path, script) -> None:
    """Killed a hundred times at random moments, what was said to be saved loads, and nothing piles up."""
    random = np.random.default_rng(0)
    saved = 0
    for _ in range(100):
        command = [sys.executable, "-c", script, str(tmp_path), str(saved + 1)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        saved = int(process.stdout.readline())
        time.sleep(random.uniform(0, 0.05))
        process.kill()
        saved = max([saved, *map(int, process.stdout.read().split())])
        process.stdout.close()
        process.wait()
        found = load_newest(tmp_path)
        assert found.step >= saved
        assert found.data == {"step": found.step}
        assert (found.tensors["w"] == found.step).all()
        saved = found.step
    assert len(list(tmp_path.iterdir())) <= 5


def test_saving_goes_on_beside(tmp_path) -> None:
    """The caller gets its thread back at once; what went wrong is reported, and the next one is written."""
    results: list[tuple[int, bool]] = []
    saver = CheckpointWriter(tmp_path / "here", lambda step, error: results.append((step, error is None)))
    saver.save(1, {"w": np.zeros(10)}, {})
    saver.wait()
    assert not saver.busy
    assert load_newest(tmp_path / "here").step == 1
    (tmp_path / "here").rename(tmp_path / "there")
    (tmp_path / "here").write_text("not a folder")
    saver.save(2, {}, {})
    saver.wait()
    (tmp_path / "here").unlink()
    saver.save(3, {}, {})
    saver.wait()
    assert results == [(1, True), (2, False), (3, True)]
