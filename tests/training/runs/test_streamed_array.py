"""An array that is saved while it is being worked on: its slices are whole, and of the moments when nobody wrote."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.safetensors_file import map_tensors
from pac.training.runs import streamed_array
from pac.training.runs.checkpoint import CheckpointWriter, load_newest
from pac.training.runs.streamed_array import StreamedArray, safetensors_chunks

LIMIT = 60.0


@pytest.fixture
def small_slices(monkeypatch):
    """Slices of 64 bytes, so that small arrays have many."""
    monkeypatch.setattr(streamed_array, "SLICE_BYTES", 64)


def taken(source: StreamedArray) -> list[bytes]:
    return [piece.tobytes() for piece in source.slices()]


def test_a_small_array_is_of_one_moment():
    """It is handed over when the stream is made: what is written later is not seen."""
    array, reported = np.arange(6.0), []
    source = StreamedArray(array, lambda: reported.append(True))
    assert source.is_copied
    array[:] = 0
    assert b"".join(taken(source)) == np.arange(6.0).tobytes()
    assert reported == [True]


@pytest.mark.usefixtures("small_slices")
def test_slices_are_handed_over_one_by_one():
    """A slice is of the moment when it was handed over, and nothing is handed over before the last was taken."""
    array = np.zeros(24, np.int64)
    source = StreamedArray(array)
    pieces = source.slices()
    array[:] = 1
    source.feed()  # the first one was not taken yet
    assert set(next(pieces).view(np.int64)) == {0}
    reader = threading.Thread(target=lambda: found.append(next(pieces).view(np.int64).tolist()))
    found: list[list[int]] = []
    reader.start()
    while not found:
        array[:] += 1
        source.feed()
        reader.join(0.001)
    assert len(found[0]) == 8
    assert len(set(found[0])) == 1
    source.release()
    assert len(next(pieces)) == 64


@pytest.mark.usefixtures("small_slices")
def test_a_released_array_is_read_as_it_stands():
    """Where nobody writes any more, the rest needs no handing over; that is reported once."""
    array, reported = np.arange(40, dtype=np.int32), []
    source = StreamedArray(array, lambda: reported.append(True))
    assert not reported
    source.release()
    source.release()
    assert b"".join(taken(source)) == array.tobytes()
    assert reported == [True]


@pytest.mark.thorough
@pytest.mark.usefixtures("small_slices")
def test_a_checkpoint_takes_what_it_is_fed(tmp_path: Path):
    """While the training goes on, the saver writes slice by slice; what comes back is whole."""
    table = np.zeros((50, 8), np.float32)
    data: dict[str, int] = {}
    reported = []
    saver = CheckpointWriter(tmp_path, lambda step, error: reported.append((step, error)))
    saver.save(1, {"table": StreamedArray(table, lambda: data.update(at=int(table[0, 0])))}, data)
    while saver.busy:
        table += 1  # every row is written at once, as far as who feeds can see
        if saver.streaming:
            saver.feed()
    saver.wait()
    found = load_newest(tmp_path)
    rows = found.tensors["table"]
    assert (rows == rows[:, :1]).all()
    assert (np.diff(rows[:, 0]) >= 0).all()
    assert found.data == {"at": rows[-1, 0]}
    assert reported == [(1, None)]


@pytest.mark.usefixtures("small_slices")
def test_a_write_that_fails_lets_go_of_the_array(tmp_path: Path):
    """A disk that refuses is reported, and feeding goes on to mean nothing."""
    (tmp_path / "here").write_text("no folder")
    reported = []
    saver = CheckpointWriter(tmp_path / "here", lambda step, error: reported.append((step, error is not None)))
    saver.save(1, {"table": StreamedArray(np.zeros(100))}, {})
    while saver.streaming:
        saver.feed()
    saver.wait()
    assert reported == [(1, True)]
    assert not saver.streaming


def test_an_error_that_nobody_foresaw_is_told(tmp_path: Path):
    """What the format has no name for is not saved, and nobody is left to think that it was."""
    reported = []
    saver = CheckpointWriter(tmp_path, lambda _step, error: reported.append(str(error)))
    saver.save(1, {"table": np.zeros(2, complex)}, {})
    saver.wait()
    assert ["complex" in error for error in reported] == [True]


@given(
    st.dictionaries(
        st.text("abc.", min_size=1, max_size=4),
        st.tuples(st.sampled_from(["?", "<u1", "<i2", "<f4", "<i8", "<f8"]), st.lists(st.integers(0, 3), max_size=3)),
        max_size=5,
    )
)
def test_files_are_those_of_the_library(tmp_path_factory, kinds):
    """What is written here the library reads, and what it writes is read here, to the bit."""
    generator = np.random.default_rng(1)
    tensors = {name: generator.integers(0, 2, shape).astype(kind) for name, (kind, shape) in kinds.items()}
    folder = tmp_path_factory.mktemp("tensors")
    (folder / "ours").write_bytes(b"".join(bytes(piece) for piece in safetensors_chunks(tensors)))
    (folder / "theirs").write_bytes(safetensors.numpy.save(tensors))
    with (folder / "theirs").open("rb") as theirs:
        read = map_tensors(theirs, writable=True)[0]
    for found in (safetensors.numpy.load_file(folder / "ours"), read):
        assert found.keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert found[name].dtype == tensor.dtype
            assert found[name].tolist() == tensor.tolist()
