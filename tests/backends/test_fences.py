"""Fleet and worker announce before they look: between a store and the load that follows, there is a fence.

The words of a control block are replaced by a list that notes each access. All processors are treated as if they showed
stores to others in any order.
"""

from typing import Any

import pytest

from pac.backends.system.segment import Segment
from pac.backends.workers import control
from pac.backends.workers.control import COMMAND, FLEET_BLOCKED, REPLY, REQUEST, STATE, STEP, ControlBlock, Link


class Noted(list[int]):
    """Words that note reads as their names, and writes as their names with a `=`."""

    def __init__(self, notes):
        super().__init__([0] * control.BLOCK)
        self.notes = notes

    def __getitem__(self, place):
        self.notes.append(place)
        return super().__getitem__(place)

    def __setitem__(self, place, value):
        self.notes.append((place, "="))
        super().__setitem__(place, value)


@pytest.fixture
def noted(monkeypatch, tmp_path):
    """Return a block, the link of its worker, and the notes of what they read and write, with the fences."""
    notes = []
    monkeypatch.setattr(control, "fence", lambda: notes.append("fence"))
    monkeypatch.setattr(control, "STRONGLY_ORDERED", False)
    monkeypatch.setattr(control, "wake_up", lambda _: notes.append("wake"))
    monkeypatch.setattr(control, "wait_on", lambda *_: notes.append("wait"))
    segment = Segment.create("control", control.BLOCK, directory=tmp_path)
    block, link = ControlBlock(segment, 0), Link(segment, 0, 0, 0)
    words: Any = Noted(notes)
    block.words = link._words = words
    notes.clear()
    return block, link, notes


def test_the_fleet_gives_the_order_before_it_asks(noted):
    """The order is in place when the request is seen."""
    block, _, notes = noted
    assert block.post(STEP) == 1
    assert notes == [REQUEST, (COMMAND, "="), "fence", (REQUEST, "=")]


def test_the_fleet_says_that_it_blocks_before_it_looks(noted):
    """A reply is seen by the fleet, or the worker sees that the fleet is blocked."""
    block, _, notes = noted
    block.block_on_reply(1, 0.1)
    assert notes == [(FLEET_BLOCKED, "="), "fence", REPLY, "wait", (FLEET_BLOCKED, "=")]


def test_a_worker_reads_the_order_after_the_request(noted):
    """It is not one of before."""
    block, link, notes = noted
    block.words[REQUEST] = 1
    link.receive()
    assert notes[-3:] == ["fence", REQUEST, COMMAND]


def test_a_worker_replies_between_its_results_and_a_look_at_the_fleet(noted):
    """The results are in place when the reply is seen, and a fleet that blocks is woken."""
    block, link, notes = noted
    list.__setitem__(block.words, FLEET_BLOCKED, 1)
    link.reply(0, 1)
    assert notes[:5] == ["fence", (REPLY, "="), "fence", FLEET_BLOCKED, "wake"]


def test_a_worker_is_ready_after_its_number(noted):
    """The state comes after what the fleet reads then; a fleet that waits for it is woken."""
    _, link, notes = noted
    link.ready()
    assert notes == ["fence", (STATE, "="), "fence", FLEET_BLOCKED]
