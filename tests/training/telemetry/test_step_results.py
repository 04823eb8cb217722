"""What is read of steps, from the memory of the host and from that of a device."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch

from pac.backends.core.layout import Layout
from pac.backends.device import memory
from pac.backends.device.memory import DeviceMemory
from pac.envs import Field, Outcome, Task
from pac.envs.slots import Span
from pac.training.telemetry.moments import fill_moment, moment_dtype
from pac.training.telemetry.step_results import StepReader, StepResults

from ...backends.late import LateTransfer

N, SLOTS = 5, 4
GAME = Task(
    spec="game",
    name="game",
    title="Game",
    factory="nowhere:nothing",
    observation=Field("observation", "float32", (3,), per="seat"),
    num_actions=7,
    info=(Field("score", "uint16"), Field("level", "uint8", per="seat"), Field("seed", "uint64", timed=False)),
    outcomes=(Outcome("won", "good"), Outcome("lost", "bad")),
    state=Field("state", "uint32", (2,), timed=False),
)
GAMES = {
    "one seat": GAME,
    "two seats with reward terms": replace(GAME, players=2, reward_terms=("gain", "loss")),
    "no state": replace(GAME, state=None),
    "saved states, bytes to observe": replace(
        GAME, saves=True, begins_at_once=False, observation=Field("observation", "uint8", (4,), per="seat")
    ),
}


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> LateTransfer:
    """What copies from memory that is made from now on."""
    transfer = LateTransfer()
    monkeypatch.setattr(memory, "transfer_of", lambda _where: transfer)
    return transfer


class Both:
    """Two buffers with the same steps, one on the host and one on a device, and a reader of each."""

    def __init__(self, task: Task, device: str = "apart") -> None:
        self.task, self.random = task, np.random.default_rng(3)
        self.host, self.device = Layout(task, N, SLOTS).map(), DeviceMemory(Layout(task, N, SLOTS, device))
        self.readers = [StepReader(task, each) for each in (self.host, self.device)]
        self.host.order.begin(0)
        self.device.order.begin(0)

    def step(self) -> None:
        """Write random numbers into the next slot."""
        order = self.host.order
        if order.full:
            self.host.carry()
            self.device.carry()
        slot = order.next(order.newest)
        for name, array in self.host.items():
            most = 2 if name in {"terminated", "truncated"} else 4
            values = self.random.integers(0, most, array.shape[1:]).astype(array.dtype)
            if name in {"observation", "final_observation"} and array.dtype.kind == "f":
                values[self.random.random(values.shape) < 0.03] = np.nan
            place = slice(None) if name == "final_observation" else 0 if len(array) == 1 else slot
            self.host[name][place] = self.device[name][place] = values
            if name == "action":
                self.host[name][order.newest] = self.device[name][order.newest] = values
        order.wrote(slot)
        self.device.order.wrote(slot)

    def request(self, steps: int) -> None:
        """Request the last steps of both, with all that can be requested."""
        (span,) = self.host.order.since(self.host.order.head - steps)
        values = self.random.random((steps, N * self.task.players)).astype("f4")
        options: dict[str, Any] = {"newest": ("score", "action", "seed"), "recorded": [0, 3]}
        options["states"] = self.task.state is not None
        for reader, here in zip(self.readers, (values, torch.from_numpy(values).to(self.device.where)), strict=True):
            reader.request(span, values=here, **options)

    def run(self) -> tuple[list[StepResults], list[StepResults], int]:
        """Make some rollouts; return the results of host and device, and how many of these were missing at most."""
        on_host, on_device = self.readers
        expected, found, most = [], [], 0
        for _ in range(8):
            for steps in (2, 1):
                for _ in range(steps):
                    self.step()
                self.request(steps)
                expected += deepcopy(on_host.delivered())
                found += on_device.delivered()
                most = max(most, len(expected) - len(found))
        return expected, found + on_device.delivered(wait=True), most


def check_equal(found: StepResults, expected: StepResults) -> None:
    """Check every attribute, types included."""
    for item in fields(StepResults):
        one, other = getattr(found, item.name), getattr(expected, item.name)
        np.testing.assert_equal(one, other, err_msg=item.name)
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None), item.name


@pytest.mark.thorough
@pytest.mark.parametrize("task", GAMES.values(), ids=GAMES)
def test_results_that_arrive_late_are_those_of_the_host(task: Task, late: LateTransfer) -> None:
    """Though the slots are overwritten meanwhile; they come in order, each once, and all after a wait."""
    expected, found, most = Both(task).run()
    assert most > 1
    assert len(late.events) == len(expected) == len(found) == 16
    for one, other in zip(found, expected, strict=True):
        check_equal(one, other)


@pytest.mark.gpu
@pytest.mark.parametrize("task", GAMES.values(), ids=GAMES)
def test_results_of_a_gpu_are_those_of_the_host(task: Task) -> None:
    """The same with page-locked memory and events of CUDA."""
    expected, found, _ = Both(task, "cuda").run()
    for one, other in zip(found, expected, strict=True):
        check_equal(one, other)


def test_a_step_that_ends_an_episode_in_both_ways_terminates_it() -> None:
    """In what counters read, and in what viewers inspect."""
    buffer, moment = Layout(GAME, 4, 2).map(), np.zeros((), moment_dtype(GAME))
    buffer["terminated"][1], buffer["truncated"][1], buffer["episode"][0] = [0, 1, 0, 1], [0, 0, 1, 1], 5
    reader = StepReader(GAME, buffer)
    reader.request(Span(slice(1, 2), slice(1)))
    (results,) = reader.delivered()
    assert results.ends.tolist() == [[0, 1, 2, 1]]
    assert results.ended_envs.tolist() == [1, 2, 3]
    shown = []
    for env in range(4):
        fill_moment(moment, GAME, buffer, 1, env)
        shown.append((int(moment["end"]), int(moment["episode"])))
    assert shown == [(0, 5), (1, 4), (2, 4), (1, 4)]
