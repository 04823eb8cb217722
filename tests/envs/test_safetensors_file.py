"""Files of tensors: what is mapped, and what is refused."""

from __future__ import annotations

import json
import os
from contextlib import suppress

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.files import open_binary
from pac.envs.safetensors_file import map_tensors

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
GOOD = safetensors.numpy.save({"rows": ROWS, "counts": np.arange(3)}, {"version": "1"})


def mapped(path, **options):
    with open_binary(path) as file:
        return map_tensors(file, **options)


def with_header(header, body=b""):
    """Return the bytes of a file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def entry(begin, end, shape=(1,), dtype="I32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": (begin, end)}


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "file"
    found.write_bytes(GOOD)
    return found


def test_arrays_and_metadata_are_those_that_were_saved(path):
    """The file may be closed, and even removed, while they are used."""
    arrays, metadata = mapped(path)
    path.unlink()
    np.testing.assert_array_equal(arrays["rows"], ROWS, strict=True)
    assert arrays["counts"].tolist() == [0, 1, 2]
    assert metadata == {"version": "1"}


def test_nothing_is_copied(path):
    """All arrays are views of one mapping of the file."""
    arrays, _ = mapped(path)
    bases = {id(array.base if array.base.base is None else array.base.base) for array in arrays.values()}
    assert not any(array.flags.owndata for array in arrays.values())
    assert len(bases) == 1


def test_arrays_are_read_only_unless_they_are_asked_for_to_be_written(path):
    """What is written stays in this process."""
    with pytest.raises(ValueError, match="read-only"):
        mapped(path)[0]["rows"][:] = 7
    mapped(path, writable=True)[0]["rows"][:] = 7
    assert path.read_bytes() == GOOD


def test_the_open_file_is_read_though_its_path_leads_elsewhere(path):
    """What was opened and verified is what is mapped."""
    with open_binary(path) as file:
        path.unlink()
        os.mkfifo(path)
        assert map_tensors(file)[1] == {"version": "1"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"abc",
        b"\xff" * 40,
        GOOD[:-1],
        GOOD + b"x",
        GOOD[:20],
        with_header([]),
        with_header({"a": 1}),
        with_header(b"\xff\xfe"),
        with_header(b'{"a":' * 5000),
        with_header({"a": entry(0, 4, dtype="BF16")}, bytes(4)),
        with_header({"a": entry(0, 2, dtype="BF16")}, bytes(2)),
        with_header({"a": entry(0, 4, dtype="O")}, bytes(4)),
        with_header({"a": entry(0, 4, shape=(2,))}, bytes(4)),
        with_header({"a": entry(0, 4, shape=(2**62, 4))}, bytes(4)),
        with_header({"a": entry(0, 4, shape=(-1,))}, bytes(4)),
        with_header({"a": entry(0, 4), "b": entry(0, 4)}, bytes(4)),
        with_header({"a": entry(0, 4), "b": entry(8, 12)}, bytes(12)),
        with_header({"a": entry(4, 0)}, bytes(4)),
        with_header({"a": entry(0, 10**30)}, bytes(4)),
    ],
)
def test_a_file_without_the_format_is_refused(path, body):
    """Sizes, gaps, overlaps and types are checked before an array is made."""
    path.write_bytes(body)
    with pytest.raises(ValueError, match=r"not a safetensors file|empty file"):
        mapped(path)


def test_a_header_that_is_too_large_is_refused(path):
    """It is refused by its length, before it is parsed."""
    with path.open("wb") as file:
        file.write((17 * 2**20).to_bytes(8, "little"))
        file.truncate(20 * 2**20)
    with pytest.raises(ValueError, match="its header has 17,825,800 bytes, the most is 16,777,216"):
        mapped(path)


@given(
    st.builds(lambda at, new: GOOD[:at] + new + GOOD[at + len(new) :], st.integers(0, len(GOOD)), st.binary(max_size=9))
    | st.binary(max_size=200)
    | st.text('{}[]":,0123456789abdtypeshoffI32', max_size=80).map(str.encode).map(with_header)
)
def test_no_file_causes_another_error(tmp_path_factory, body):
    """Arbitrary bytes are arrays or are refused with a ValueError."""
    path = tmp_path_factory.getbasetemp() / "fuzzed.safetensors"
    path.write_bytes(body)
    with suppress(ValueError):
        arrays, _ = mapped(path)
        assert sum(array.nbytes for array in arrays.values()) <= len(body)
