"""Slices and rows other than the first: threads that step a slice, and checks that look at one part per step."""

import math
import threading
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from pac.backends import BackendError, make
from pac.backends.core import finite
from pac.backends.core.layout import Layout
from pac.backends.device.memory import DeviceNumberCheck
from pac.envs import EnvironmentFailed, find
from pac.envs.noop.driver import NoopEnvironments

from ..toys import toy

WRONG = 7
SPANS = [(0, 2), (2, 5), (5, 7), (7, 10), (10, 13)]
STEPPED: set[tuple[int, str]] = set()


class Picky(NoopEnvironments):
    """Raises in the environment that gets a wrong action; notes which thread steps which slice."""

    def __init__(self, task, lo, hi, buffers, seed):
        super().__init__(task, lo, hi, buffers, seed)
        self._lo = lo

    def step(self, slot):
        STEPPED.add((self._lo, threading.current_thread().name))
        for index in np.flatnonzero(self._part["action"][slot] == WRONG).tolist():
            raise EnvironmentFailed(f"environment {self._lo + index + 1} is picky", self._lo + index, WRONG)
        super().step(slot)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("env", [1, 2, 6, 12])
def test_an_error_in_any_thread_reaches_the_caller(monkeypatch, env, alone):
    """With the number of its environment, whichever slice it is in, whether helper threads step or the calling one."""
    monkeypatch.setattr("pac.backends.core.threads.HANDOVER", math.inf if alone else 0.0)
    task = replace(find("noop"), native=True, factory=f"{__name__}:Picky")
    with closing(make(task, 13, "threads", strict=True, workers=len(SPANS))) as envs:
        envs.start()
        envs.advance(0)  # measures what a step costs
        STEPPED.clear()
        envs.advance(0)
        caller = threading.current_thread().name
        assert {(lo, caller if alone or not lo else f"pac-envs-{lo}") for lo, _ in SPANS} == STEPPED
        assert [(one.index, one.lo, one.hi, one.steps) for one in envs.workers] == [
            (index, *span, 2) for index, span in enumerate(SPANS)
        ]
        envs.buffer["action"][0, env] = WRONG
        with pytest.raises(EnvironmentFailed, match=f"environment {env + 1} is picky") as caught:
            envs.advance(0)
        assert caught.value.environment == env
        with pytest.raises(BackendError, match="it has failed"):
            envs.advance(0)


@pytest.mark.filterwarnings("ignore:overflow encountered in dot")
@pytest.mark.parametrize("bad", [math.nan, -math.inf])
@pytest.mark.parametrize(("width", "rows", "turns"), [(300, 22, 8), (2000, 4, 4), (3, 12, 1), (1, 2, 1)])
def test_every_row_is_looked_at_within_the_promised_steps(width, rows, turns, bad):
    """One part of at most 1,024 numbers per step, also a shorter last one; rewards at once; with the right number."""
    task = toy("float32", (width,), players=2)
    buffer = Layout(task, rows // 2, 5).map()
    buffer["reward"][:] = buffer["observation"][:] = 1e30  # whose squares overflow
    for row in range(rows):
        for name, steps in (("observation", turns), ("reward", 1)):
            check, field = finite.FiniteCheck(task, buffer), buffer[name].reshape(5, rows, -1)
            check.check_slots(slice(0, 2))
            field[:, row, -1] = bad
            found = []
            for slot in range(2 * steps):
                check.check_slots(slice(slot % 5, slot % 5 + 1))
                found += [(slot, event.lo, event.text.split(" (")[0]) for event in check.events()]
            field[:, row, -1] = 1e30
            assert check.count == 2
            ((slot, env, text),) = found  # the second warning would be too early
            assert slot < steps
            assert (env, text) == (row // 2, f"environment {row // 2 + 1} returned a {name} that is NaN or infinite")


@pytest.mark.parametrize("row", range(6))
def test_a_device_looks_at_every_row(row):
    """Of all slots at once."""
    task = toy("float32", (3,), players=2)
    tensors = {"reward": torch.zeros(4, 6), "observation": torch.zeros(4, 6, 3)}
    memory: Any = SimpleNamespace(tensors=tensors, transferred=0)
    check = DeviceNumberCheck(task, memory)
    tensors["observation"][2, row, 1] = math.nan
    check.check_slots(slice(0, 2))
    assert not check.events()
    check.check_slots(slice(1, 3))
    (event,) = check.events()
    assert (check.count, event.lo, event.hi) == (1, row // 2, row // 2 + 1)
