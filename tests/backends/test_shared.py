"""Fields that all environments share: one row, in the same memory for everybody."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from pac.backends import BackendUnavailable, TooManyEnvironments, make
from pac.backends.core import memory
from pac.backends.workers import shm
from pac.envs import allocate, find
from pac.envs.task import transformed

CELLS = 6
TALLY = ("tally:dress", {"cells": CELLS})


@pytest.fixture
def tally():
    """A task whose environments add to one table."""
    return transformed(find("noop"), TALLY)


@pytest.mark.parametrize("backend", ["inline", "shm"])
def test_all_write_into_one_table(tally, backend):
    """Environments of two workers add to one table, each the given number; a reset keeps it."""
    with closing(make(tally, backend=backend, workers=2, slots=4)) as envs:
        assert envs.environments == 3
        assert envs.buffer["table"].shape == (1, 1, CELLS)
        envs.start()
        envs.buffer["weight"][0] = 5, 7, 11
        for slot in range(2):
            envs.buffer["action"][slot] = 0
            envs.advance(slot)
        envs.start()
        assert envs.buffer["table"][0, 0].tolist() == [10, 14, 22, 0, 0, 0]


def test_a_transformed_task_has_its_transform(tally):
    """So another process makes an equal one; without a dress a task stays as it is."""
    assert tally.transform == TALLY
    assert transformed(find("noop"), tally.transform) == tally
    assert transformed(find("noop"), None) == find("noop")
    assert allocate(tally, 5, 3)["table"].shape == (1, 1, CELLS)


@pytest.mark.parametrize("backend", ["socket", "http"])
def test_connections_cannot_share_tables(tally, backend):
    """Servers cannot share memory: the next backend that can is taken and says so, or it is an error."""
    with pytest.raises(BackendUnavailable, match="environments share tables"):
        make(tally, 2, backend, strict=True)
    envs = make(tally, 2, backend)
    assert envs.name == "inline"
    assert "environments share tables" in envs.drain_events()[0].text
    envs.close()


def test_threads_share_tables_where_there_is_little_shared_memory(tally, monkeypatch):
    """They have the same memory without asking for it, if steps release Python's lock."""
    monkeypatch.setattr(shm, "lack_of_room", lambda *_: "64.0 MiB are needed")
    envs = make(replace(tally, native=True), 4, workers=2)
    assert envs.name == "threads"
    assert envs.drain_events()[0].text == "shm cannot run noop here (64.0 MiB are needed), using threads"
    envs.start()
    envs.buffer["weight"][0] = 3
    envs.buffer["action"][0] = 0
    envs.advance(0)
    assert envs.buffer["table"][0, 0].tolist() == [3, 3, 3, 3, 0, 0]
    envs.close()


@pytest.mark.session
def test_a_table_that_is_too_large_is_refused(monkeypatch):
    """Fewer environments are no remedy where the table alone does not fit."""
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 23)
    with pytest.raises(TooManyEnvironments, match="not even one environment fits"):
        make(transformed(find("noop"), ("tally:dress", {"cells": 1 << 20})), 4, "inline")
