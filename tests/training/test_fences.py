"""What other processes read is published in order: between two fences, either the content changes or what announces it.

Without a fence, another core may see the announcement before the content. So a fence is replaced by one that notes what
has changed since the last one. Readers, which change nothing, have a fence after and before they read what announces.
"""

import json

import numpy as np
import pytest
import torch

from pac.backends.system.arrays import NamedArrays
from pac.backends.system.segment import Segment
from pac.backends.workers import control
from pac.training.independent.mailbox import Board, Mailbox, board_specs
from pac.training.relay.messages import changes
from pac.training.relay.remote_session import Mirror
from pac.training.session.gate import Gate, Word
from pac.training.telemetry.blocks import TelemetryReader, TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import Phase
from pac.training.telemetry.timeline import SharedLaps, laps_specs

from ..toys import FACTS, toy
from .independent.publisher import LAYOUT, SPECS

NOTHING: set[str] = set()


def laps(_folder):
    arrays = NamedArrays(laps_specs(1))
    shared = SharedLaps(arrays, 0)
    return arrays, {
        "lap": (lambda: shared.lap("a"), [{"phase", "begin", "end"}, {"count"}]),
        "read": (shared.read, [NOTHING] * 2),
    }


def mailbox(_folder):
    arrays = NamedArrays(SPECS)
    letters = Mailbox(arrays, LAYOUT)
    content = {name: torch.ones_like(one) for name, one in LAYOUT.items()}, np.array([1]), np.array([0.5])
    expected = [{"sequence"}, {"tensors", "counts", "metrics"}, {"sequence"}, {"version"}]
    return arrays, {
        "publish": (lambda: letters.publish(*content), expected),
        "read": (lambda: letters.read({}), [NOTHING] * 3),
    }


def board(_folder):
    arrays = NamedArrays(board_specs(2))
    shared = Board(arrays)
    shared.set_place({"at": 0})
    return arrays, {
        "set_place": (lambda: shared.set_place({"at": 1}), [{"place"}, {"ring"}, {"call"}]),
        "place": (shared.place, [NOTHING] * 3),
        "listen": (shared.call.listen, [NOTHING] * 2),
    }


def blocks(folder):
    writer = TelemetryWriter(describe(toy(), **FACTS), 1, 1, folder)
    reader = TelemetryReader(folder)
    memory = {"block": writer.array("terms"), "sequence": writer._mapped.sequences["terms"]}
    return memory, {
        "put": (lambda: writer.put("terms", 5), [{"sequence"}, {"block"}, {"sequence"}]),
        "read": (lambda: reader.read("terms"), [NOTHING] * 3),
    }


def mirror(folder):
    original = folder / "original"
    original.mkdir()
    TelemetryWriter(describe(toy(), **FACTS), 1, 1, original)
    copy = Mirror(folder, folder)
    copy.open(json.dumps(TelemetryReader(original).header).encode())
    assert copy._mapped is not None
    block = copy._mapped.arrays["state"]
    now = block.reshape(-1).view("u1") + np.uint8(1)
    sent = b"".join(changes(copy._names.index("state"), np.zeros_like(now), now))
    memory = {"block": block, "sequence": copy._mapped.sequences["state"]}
    expected = [{"sequence"}, {"block"}, {"sequence"}]
    return memory, {
        "apply": (lambda: copy.apply(sent), expected),
        "say": (lambda: copy.say(Phase.DISCONNECTED, "gone"), expected),
    }


def gate(folder):
    session = Gate(folder)
    words = np.frombuffer(session._words, np.int64)
    memory = {"attention": words[:1], "changes": words[Word.CHANGES :][:1], "others": words[Word.CHANGES + 1 :]}
    return memory, {"pause": (session.pause, [{"attention", "others"}, {"changes"}])}


def worker(folder):
    segment = Segment.create("control", control.BLOCK, directory=folder)
    block = control.ControlBlock(segment, 0)
    words = np.frombuffer(segment.map, np.uint32)
    memory = {"request": words[control.REQUEST :][:1], "order": words[control.COMMAND :][:1]}
    return memory, {"post": (lambda: block.post(control.CLOSE), [{"order"}, {"request"}])}


CASES = [
    ("training.telemetry.timeline", laps, ["lap", "read"]),
    ("training.telemetry.segment_layout", blocks, ["put"]),
    ("training.telemetry.segment_layout", mirror, ["apply", "say"]),
    ("training.telemetry.blocks", blocks, ["read"]),
    ("training.independent.mailbox", mailbox, ["publish", "read"]),
    ("training.independent.mailbox", board, ["set_place", "place", "listen"]),
    ("training.session.gate", gate, ["pause"]),
    ("backends.workers.control", worker, ["post"]),
]


@pytest.mark.parametrize(("module", "made", "name"), [(*case, name) for *case, names in CASES for name in names])
def test_content_and_announcement_are_separated(monkeypatch, folder, module, made, name):
    """In this order, and nothing else changes."""
    memory, operations = made(folder)
    operation, expected = operations[name]
    seen, changes = {key: array.copy() for key, array in memory.items()}, []

    def note() -> None:
        changes.append({key for key, array in memory.items() if not np.array_equal(array, seen[key])})
        seen.update({key: array.copy() for key, array in memory.items()})

    monkeypatch.setattr(f"pac.{module}.fence", note)
    monkeypatch.setattr(f"pac.{module}.STRONGLY_ORDERED", False, raising=False)
    operation()
    note()
    assert changes == expected
