"""The messages of a relay, also from another side that wants to do harm."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.training.relay.messages import (
    HEAD,
    MAX_MESSAGE,
    BadRelay,
    Kind,
    apply_changes,
    changes,
    read_message,
    write_message,
)


@given(st.binary(max_size=400), st.data())
def test_changes_turn_the_old_block_into_the_new_one(before, data):
    """Whatever changed; only lines that differ are sent."""
    now = data.draw(st.binary(min_size=len(before), max_size=len(before)))
    old, new = (np.frombuffer(each, np.uint8) for each in (before, now))
    sent = b"".join(changes(1, old, new))
    blocks = [np.zeros(3, np.uint8), old.copy()]
    assert apply_changes(sent, blocks) == ({1} if before != now else set())
    assert blocks[1].tobytes() == now
    assert not sent or before != now


@given(st.binary(max_size=200))
def test_false_changes_are_refused_and_write_nowhere_else(data):
    """Blocks keep their sizes."""
    blocks = [np.zeros(100, np.uint8), np.zeros(7, np.uint8)]
    with contextlib.suppress(BadRelay):
        apply_changes(data, blocks)
    assert [len(block) for block in blocks] == [100, 7]


@given(st.binary(max_size=200))
def test_false_bytes_are_no_frames(data):
    """They end the stream or are refused."""
    try:
        frame = read_message(io.BytesIO(data))
    except BadRelay:
        return
    assert frame is None or frame.kind in set(Kind)


def test_a_frame_that_unpacks_to_too_much_is_refused():
    """A few bytes could stand for gigabytes."""
    stream = io.BytesIO()
    write_message(stream, Kind.CHANGES, bytes(MAX_MESSAGE + 1))
    assert len(stream.getvalue()) < MAX_MESSAGE
    stream.seek(0)
    with pytest.raises(BadRelay, match="longer than 8 MiB"):
        read_message(stream)


def test_a_frame_that_claims_to_be_large_is_not_waited_for():
    """Its length is checked before its data are read."""
    with pytest.raises(BadRelay, match="does not speak"):
        read_message(io.BytesIO(HEAD.pack(Kind.HELLO, MAX_MESSAGE + 1)))
