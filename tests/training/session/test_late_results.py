"""Sessions whose environments are on a device that is behind the host."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pac.backends.core.layout import Layout
from pac.backends.device import memory
from pac.backends.device.memory import DeviceMemory
from pac.envs.fields import DECIDES
from pac.training.session import publishing
from pac.training.session.gate import Gate
from pac.training.session.monitor import Monitor
from pac.training.telemetry.throughput import TrainingClock
from pac.training.trainer import Timer

from ...backends.late import LateTransfer
from ..watched import run_here
from .source import TASK, N, segment

SETTINGS = {"batch": 360, "minibatch": 180, "epochs": 1, "threads": 1, "channels": 8, "hidden": 16}


def trained(folder: Path, task: str) -> tuple[dict[str, object], list[object]]:
    """Train for three rollouts; return the counts of the report, and what viewers can see of the past."""
    options = {"trainer": "ppo", "settings": SETTINGS, "backend": "device", "device": "cpu", "num_envs": 6, "seed": 3}
    report, session = run_here(folder, task=task, steps=1080, **options)
    history, table = session.debugger.history, session.counter.counts.table
    kept = [history._actions, history._rewards, history._ends, history._values, history._decided]
    frames = [(frame.step, frame.states.tolist()) for frame in history._keyframes]
    episodes = np.array([table._records[name] for name in ("env", "episode", "ret", "length", "outcome", "end")])
    counts = {name: report[name] for name in ("steps", "frames", "episodes", "iterations", "outcomes", "return_mean")}
    counts["alarms"] = report["alarms"]
    return counts, [*kept, history.now, frames, episodes]


@pytest.mark.session
@pytest.mark.parametrize("task", ["drmario:level=2", "treasure:turns=10"])
def test_late_results_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str) -> None:
    """Counts, episodes, history and keyframes equal those of environments in memory of the host."""
    monkeypatch.setattr(publishing, "PERIODS", dict.fromkeys(publishing.PERIODS, 1e9))  # else they decide what is kept
    counts, past = trained(tmp_path / "host", task)
    transfer = LateTransfer(most=2)
    monkeypatch.setattr(memory, "transfer_of", lambda _where: transfer)
    monkeypatch.setenv("PAC_DEVICE_MEMORY", "apart")
    late_counts, late_past = trained(tmp_path / "device", task)
    assert transfer.events
    assert late_counts == counts
    for one, other in zip(late_past, past, strict=True):
        np.testing.assert_equal(one, other)


def followed(folder: Path) -> tuple[Monitor, Callable[[], None]]:
    """Return a monitor of two environments on a device that is far behind, and what makes a step."""
    monitor = Monitor(TASK, Gate(folder), Timer(), TrainingClock(), on_breakpoint=print, on_finding=print)
    source = SimpleNamespace(buffer=DeviceMemory(Layout(TASK, N, 3, "apart")), workers=(), save=lambda _slot: False)
    buffer: DeviceMemory = source.buffer
    buffer.order.begin(0)
    monitor.attach(segment(folder), N)
    monitor.begin(source)
    monitor.publisher.due = math.inf

    def step() -> None:
        if buffer.order.full:
            buffer.carry()
        slot = buffer.order.next(buffer.order.newest)
        buffer["active"][slot] = DECIDES
        buffer.order.wrote(slot)
        monitor.step()

    return monitor, step


@pytest.mark.parametrize("reader", ["nobody", "a breakpoint", "viewers", "a pause"])
def test_results_are_waited_for_only_if_something_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    """A breakpoint is checked before the next step, viewers see the newest step, and an iteration has all its steps."""
    monkeypatch.setattr(memory, "transfer_of", lambda _where: LateTransfer(1, most=1_000_000))
    monitor, step = followed(tmp_path)
    if reader == "a breakpoint":
        monitor.debugger.breakpoints.add("reward > 9", N)
    found = []
    for _ in range(3):
        monitor.publisher.due = 0.0 if reader == "viewers" else math.inf
        step()
        if reader == "a pause":
            monitor.wait()
        found.append(monitor.counter.counts.steps // N)
    assert found == ([0, 0, 0] if reader == "nobody" else [1, 2, 3])
    monitor.end_iteration({})
    assert monitor.counter.counts.steps == 3 * N
