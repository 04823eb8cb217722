"""How much memory there is, and how many environments fit into it."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import psutil
import pytest

from pac.backends import BACKENDS, TooManyEnvironments, make
from pac.backends.core import memory
from pac.backends.core.layout import Layout
from pac.backends.system import cores
from pac.envs import BadParameter, find

MIB = 1 << 20
TASK = find("drmario")


@pytest.fixture
def little(monkeypatch):
    """Let this process believe that 8 MiB are available."""
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * MIB)


@pytest.mark.parametrize(
    ("limit", "used", "cached"),
    [
        ("memory.max", "memory.current", f"anon 5\ninactive_file {10 * MIB}"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", f"total_inactive_file {10 * MIB}"),
    ],
)
def test_a_container_s_limit_counts(monkeypatch, tmp_path, limit, used, cached):
    """What a control group of either version has left is the limit, where the machine has more."""
    for name, text in {limit: 100 * MIB, used: 60 * MIB, "memory.stat": cached}.items():
        (tmp_path / name).write_text(f"{text}\n")
    monkeypatch.setattr(memory, "folders", lambda _: [tmp_path])
    assert memory.available_memory() == 50 * MIB


def test_a_group_without_a_limit(monkeypatch, tmp_path):
    """Without a limit, or without a file to read, the machine's memory counts."""
    (tmp_path / "memory.max").write_text("max\n")
    monkeypatch.setattr(memory, "folders", lambda _: [tmp_path, tmp_path / "gone"])
    assert memory.available_memory() == pytest.approx(psutil.virtual_memory().available, rel=0.2)


def test_the_parents_of_a_control_group_count():
    """They begin with this process's own and end with the root."""
    found = cores.folders("memory")
    assert all(folder == cores.ROOT or cores.ROOT in folder.parents for folder in found)
    assert cores.folders("nonsense") == [folder for folder in found if "memory" not in folder.parts]


@pytest.mark.usefixtures("little")
def test_too_many_environments_are_refused_with_a_number_that_fits():
    """The error has the needed and the available memory and how many environments fit; that many do fit."""
    with pytest.raises(TooManyEnvironments, match=r"N=100,000 needs about .* MiB, 6\.4 MiB are available") as caught:
        make(TASK, 100_000, "inline", slots=2)
    most = caught.value.most
    assert f"use at most {most:,}" in str(caught.value)
    assert Layout(TASK, most, 2).size <= 6.4 * MIB < Layout(TASK, most + most // 20, 2).size
    make(TASK, most, "inline", slots=2).close()


@pytest.mark.usefixtures("little")
def test_fewer_environments_are_no_remedy():
    """No number is proposed where one environment does not fit, and where a replay is too long for any number."""
    with pytest.raises(TooManyEnvironments, match="not even one environment fits"):
        make(TASK, 1, "inline", slots=100_000)
    with pytest.raises(BadParameter, match=r"a replay of 100,000 steps of N=4 .* lower replay_size"):
        make(TASK, 4, "inline", slots=100_000, ring=True)


@pytest.mark.session
def test_the_memory_of_an_environment_is_measured(toy, monkeypatch):
    """One that holds 4 MiB takes 4 MiB, which count beside the buffer; what cannot be made takes nothing known."""
    assert memory.footprint(toy("Heavy", mebibytes=4).spec) == pytest.approx(4 * MIB, rel=0.2)
    assert memory.footprint(toy("Masked").spec) < MIB
    assert memory.footprint("faulty:Nothing") == 0
    monkeypatch.setattr(memory, "available_memory", lambda: 100 * MIB)
    with pytest.raises(TooManyEnvironments) as caught:
        make(toy("Heavy", mebibytes=4), 1000, "inline")
    assert 15 <= caught.value.most <= 25


def test_ten_million_environments(monkeypatch):
    """They are refused before memory is touched."""
    monkeypatch.setattr(np, "zeros", None)
    with pytest.raises(TooManyEnvironments, match="N=10,000,000 needs"):
        make(TASK, 10_000_000, "inline", slots=129)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_buffer_of_a_closed_backend_goes_with_it(backend):
    """No garbage collection is needed: a restart with more environments needs the memory."""
    gc.disable()
    try:
        envs = make("noop", 2, backend, workers=1)
        buffer = weakref.ref(envs.buffer)
        envs.start()
        envs.close()
        del envs
        assert buffer() is None
    finally:
        gc.enable()
