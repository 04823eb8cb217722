"""What the session writes, readers see: whole records, the newest segment, and nothing that is not telemetry."""

import json
import os
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

from pac.backends.system.segment import new_directory, remove_directory
from pac.envs import Field, Glyph, Outcome, Panel
from pac.training.telemetry.blocks import TelemetryReader, TelemetryWriter, TornRead
from pac.training.telemetry.declared import DamagedTelemetry
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import Level, Phase
from pac.training.telemetry.segment_layout import (
    CONTROL,
    CONTROL_BYTES,
    NotTelemetry,
    blocks_of,
    limits_by_block,
    segment_path,
)
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.telemetry.tables import write_policy
from pac.training.trainer import PolicyOutput

from ...toys import FACTS, toy

TASK = toy(
    spec="toy:size=3",
    reward_terms=("win", "loss"),
    outcomes=(Outcome("won", "good"), Outcome("lost", "bad")),
    info=(Field("score", "int32"),),
    panels=(Panel("cells", "Board", "board", glyphs=(Glyph("  ", " ", "#ffffff", "#000000"),), main=True),),
    boards=(Field("board", "uint8", (2, 3), timed=False),),
)


def write(folder, num_envs=4, generation=1):
    return TelemetryWriter(describe(TASK, **FACTS), num_envs, generation, folder)


def test_the_description_survives_the_segment(folder):
    """What the header says is what was described. Only this user can read it."""
    write(folder)
    assert segment_path(folder, 1).stat().st_mode & 0o777 == 0o600
    description = TelemetryReader(folder).description
    assert description.task == "toy:size=3"
    assert description.outcomes == (("won", "good"), ("lost", "bad"))
    assert description.board
    assert description.board.shape == (2, 3)
    assert description.board.glyphs == TASK.panels[0].glyphs


def test_a_snapshot_holds_what_was_written(folder):
    """State, boards, events and outcomes arrive; without a baseline, speedup is not a number."""
    writer = write(folder)
    with writer.write("state") as state:
        state["baseline"], state["fps"], state["num_envs"] = np.nan, 300.0, 4
    unknown = take_snapshot(TelemetryReader(folder), ViewRequest(count=0))
    assert (unknown.baseline, unknown.speedup, unknown.efficiency) == (None, None, None)
    with writer.write("state") as state:
        state["phase"], state["num_envs"], state["message"] = Phase.RUNNING, 4, b"hello"
        state["baseline"], state["fps"] = 100.0, 300.0
    with writer.write("board:board") as boards:
        boards[:] = np.arange(24).reshape(4, 2, 3)
    with writer.write("events") as events:
        events[1] = (2, 20.0, Level.ERROR, 3, b"second")
        events[0] = (1, 10.0, Level.INFO, -1, b"first")
    snapshot = take_snapshot(TelemetryReader(folder), ViewRequest(first=1, count=2, focus=3))
    assert (snapshot.phase, snapshot.message) == (Phase.RUNNING, "hello")
    assert snapshot.boards["board"].tolist() == np.arange(24).reshape(4, 2, 3)[1:3].tolist()
    assert snapshot.focus_boards["board"].ravel().tolist() == list(range(18, 24))
    assert [event.text for event in snapshot.events] == ["first", "second"]
    assert snapshot.speedup == 3.0
    assert snapshot.efficiency == 75.0


def test_a_reader_follows_to_the_next_generation(folder):
    """After a restart at another N the reader sees the new segment."""
    first = write(folder, num_envs=4)
    reader = TelemetryReader(folder)
    write(folder, num_envs=8, generation=2)
    first.hand_over(2)
    assert len(take_snapshot(reader, ViewRequest()).environments) == 8
    assert reader.generation == 2
    assert not segment_path(folder, 1).exists()


def test_a_reader_never_sees_half_a_record(folder):
    """While a thread writes matching pairs again and again, every read is a matching pair."""
    writer = write(folder)
    done, paused = threading.Event(), threading.Event()

    def scribble():
        number = 0
        while not done.is_set():
            number += 1
            with writer.write("environments") as table:
                for env in range(len(table)):
                    table["episode"][env] = number
            paused.wait(1e-4)

    thread = threading.Thread(target=scribble, daemon=True)
    thread.start()
    reader = TelemetryReader(folder)
    try:
        for _ in range(100):
            assert len(set(reader.read("environments")["episode"].tolist())) == 1
    finally:
        done.set()
        thread.join()


class Noted:
    """An array that notes every access to it."""

    def __init__(self, array, name, notes):
        self.array, self.name, self.notes = array, name, notes

    def __getitem__(self, at):
        self.notes.append(f"load {self.name}")
        return self.array[at]

    def __setitem__(self, at, value):
        self.notes.append(f"store {self.name}")
        self.array[at] = value


@pytest.fixture
def noted(folder, monkeypatch):
    """A writer and a reader of one segment, and the order of their accesses to a block and its sequence number."""
    notes: list[str] = []
    writer = write(folder)
    reader = TelemetryReader(folder)
    for side in (writer, reader):
        parts: dict[str, Any] = {"sequence": side._mapped.sequences, "data": side._mapped.arrays}
        for kind, held in parts.items():
            held["state"] = Noted(held["state"], kind, notes)
    for module in ("blocks", "segment_layout"):
        monkeypatch.setattr(f"pac.training.telemetry.{module}.fence", lambda: notes.append("fence"))
    return writer, reader, notes


def test_writers_and_readers_fence_the_data_from_both_accesses_to_the_sequence_number(noted):
    """No processor may store or load the data before the first access, nor after the second."""
    writer, reader, notes = noted
    with writer.write("state") as block:
        block["num_envs"] = 4
    odd_and_even = ["load sequence", "store sequence"]
    assert notes == [*odd_and_even, "fence", "store data", "fence", *odd_and_even]
    notes.clear()
    reader.read("state")
    assert notes == ["load sequence", "fence", "load data", "fence", "load sequence"]


def test_what_a_writer_left_that_died_inside_a_block_is_read(folder):
    """Nothing newer will come: the session's last state stays readable."""
    writer = write(folder)
    reader = TelemetryReader(folder)
    with writer.write("state") as state:
        state["num_envs"] = 4
        assert reader.read("state")["num_envs"] == 4


def test_a_writer_that_lives_and_never_leaves_a_block_is_an_error(monkeypatch):
    """A record that stays half written is an error, not garbage and not a hang."""
    monkeypatch.setattr("pac.training.telemetry.blocks.READ_TIMEOUT", 0.1)
    own = new_directory()
    with write(own).write("state"), pytest.raises(TornRead, match="half written"):
        TelemetryReader(own).read("state")
    remove_directory(own)


def test_a_writer_that_lives_is_waited_for(monkeypatch):
    """A machine that is busy elsewhere may let it stand inside a block for as long as it likes."""
    monkeypatch.setattr("pac.training.telemetry.blocks.MAX_POLL_SECONDS", 0.01)
    own = new_directory()
    writer = write(own)
    reader = TelemetryReader(own)
    with ThreadPoolExecutor(1) as pool:
        with writer.write("state") as state:
            state["num_envs"] = 4
            reading = pool.submit(reader.read, "state")
            with pytest.raises(TimeoutError):
                reading.result(0.2)
        assert reading.result(10)["num_envs"] == 4
    remove_directory(own)


def described(**facts):
    """Return what changes the description in a header."""
    return lambda header: {**header, "description": {**header["description"], **facts}}


HOSTILE: list[dict[str, Any]] = [{"boards": []}, {"players": 0}, {"num_actions": -1}]


def field(header, **facts):
    (board,) = header["description"]["boards"]
    return described(boards=[{**board, **facts}])(header)


def overwritten(at, new):
    return lambda path: path.write_bytes((data := path.read_bytes())[:at] + new + data[at + len(new) :])


def cut_to(length):
    return lambda path: path.write_bytes(path.read_bytes()[:length])


def with_header(change):
    """Return what changes the header of a segment."""

    def write_header(path):
        data = path.read_bytes()
        last = CONTROL_BYTES + CONTROL.unpack_from(data, 0)[5]
        text = json.dumps(change(json.loads(data[CONTROL_BYTES:last]))).encode()
        size = len(data) - (last - CONTROL_BYTES) + len(text)
        control = CONTROL.pack(*CONTROL.unpack_from(data, 0)[:5], len(text), size, 1, 1)
        path.write_bytes(control.ljust(CONTROL_BYTES, b"\0") + text + data[last:])

    return write_header


def replaced(make):
    return lambda path: (path.unlink(), make(path))


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda path: path.unlink(), "contains no telemetry"),
        (overwritten(0, b"XXXX"), "is not telemetry"),
        (overwritten(4, b"\x63\x00\x00\x00"), "is telemetry of version 99, and this"),
        (overwritten(24, b"\x01"), "is not telemetry"),
        # A disk that was full, or a copy that was cut short: shorter than its header.
        *((cut_to(length), r"telemetry\.1") for length in (0, 1, CONTROL.size - 1, CONTROL_BYTES, CONTROL_BYTES + 10)),
        *((with_header(lambda header, n=n: {**header, "num_envs": n}), "") for n in (10**12, -1, 1.5, None)),
        *((with_header(partial(field, dtype=dtype)), "") for dtype in ("O", "S9", "M8[s]", "uint64", "nothing")),
        *((with_header(partial(field, shape=shape)), "") for shape in ([10**9, 10**9], [-1], [2, 4])),
        *((with_header(described(**facts)), "") for facts in HOSTILE),
        (with_header(lambda header: {**header, "description": {}}), ""),
        *((with_header(lambda _, new=new: json.loads(new)), "") for new in ("[]", "null", "[" * 500 + "]" * 500)),
        (replaced(os.mkfifo), ""),
        *((replaced(lambda path, to=to: path.symlink_to(to)), "") for to in ("/dev/zero", "nowhere")),
    ],
)
def test_what_no_session_wrote_is_refused(folder, harm, sentence):
    """What a reader looks at must be there, of the right kind; nothing waits for a FIFO."""
    write(folder)
    harm(segment_path(folder, 1))
    with pytest.raises(NotTelemetry, match=sentence or None):
        TelemetryReader(folder)


@pytest.mark.parametrize("ranges", [(), [(-1.0, 0.5), (-2.0, 0.25)]], ids=["unknown", "known"])
def test_the_policy_is_read_as_it_was_written(folder, ranges):
    """Also of a policy that knows no ranges of returns, or no values."""
    writer = write(folder)
    output = PolicyOutput(0.5, 0.25, [1, 0], [0.75, 0.25], values=[2.0, 1.0] if ranges else (), ranges=ranges)
    write_policy(writer, 2, 0, output)
    found = take_snapshot(TelemetryReader(folder), ViewRequest(focus=2)).policy
    assert found is not None
    assert (list(found.actions), list(found.probabilities)) == ([1, 0], [0.75, 0.25])
    assert (list(found.values), found.ranges) == (list(output.values), list(ranges))


def test_every_number_in_a_record_has_a_range():
    """A field that is added to a record must say which numbers it may contain."""
    for block in blocks_of(describe(TASK, **FACTS), 4):
        names = np.dtype(block.dtype).names or ()
        assert {*(block.record.ranges if block.record else ())} == {
            name for name in names if np.dtype(block.dtype)[name].base.kind in "biuf"
        }


def beyond():
    """Yield each field that has a limit, and a value outside of it."""
    about = describe(TASK, **FACTS)
    dtypes = {block.name: np.dtype(block.dtype) for block in blocks_of(about, 4)}
    for block, ranges in limits_by_block(about).items():
        for name, (low, high, _) in ranges.items():
            base = dtypes[block][name].base
            most = np.iinfo(base).max if base.kind in "iu" else 3e38
            least = np.iinfo(base).min if base.kind == "i" else 0 if base.kind == "u" else -3e38
            outside = [value for value in (most, least) if not low <= value <= high]
            assert outside, f"{block}.{name} has a limit that it cannot pass"
            yield from ((block, name, value) for value in outside)


@pytest.mark.parametrize(("block", "name", "value"), [*beyond()])
def test_a_record_that_no_session_writes_is_refused(folder, block, name, value):
    """Whatever its field, where it is read."""
    writer = write(folder)
    with writer.write(block) as records:
        records[name] = value
    with pytest.raises(DamagedTelemetry, match=f"{block} has the {name}"):
        TelemetryReader(folder).read(block)


@pytest.mark.parametrize(("generations", "shown"), [((1, 2), 2), ((2, 1), 2), ((9, 9), 2)])
def test_segments_that_name_each_other_are_attached_once(folder, monkeypatch, generations, shown):
    """A reader only goes on to later ones, and those that exist."""
    for generation, after in enumerate(generations, 1):
        mapped = write(folder, generation=generation)._mapped
        struct.pack_into("<Q", mapped.segment.map, CONTROL.size - 8, after)
    (folder / "telemetry.007").touch()
    reader = TelemetryReader(folder)
    attached: list[int] = []
    monkeypatch.setattr(reader, "_attach", attached.append)
    for _ in range(3):
        reader.follow()
    assert reader.generation == shown
    assert not attached
