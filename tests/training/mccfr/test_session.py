"""Solving in a real session: its figures, its workers, and runs that are left and resumed."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pac.training.checkpoint import load_newest
from pac.training.config import Config
from pac.training.control import CommandRefused, SessionClient
from pac.training.host import SessionFailed, SessionProcess, launch
from pac.training.runs import RunFolder
from pac.training.snapshot import Look, Snapshot, take
from pac.training.telemetry import TelemetryReader

pytestmark = pytest.mark.session
LIMIT = 100.0


def started(folder: Path, **options: Any) -> SessionProcess:
    common = {"task": "leduc", "runs_dir": folder, "num_envs": 2}
    return launch(Config.model_validate({**common, **options}), headless=True)


def until(session: SessionProcess, condition: Any) -> Snapshot:
    """Watch a session until a condition is true of what is seen; return that."""
    reader, end = TelemetryReader(session.directory), time.monotonic() + LIMIT
    while not condition(snapshot := take(reader, Look(count=0))):
        assert time.monotonic() < end, (snapshot.phase, dict(snapshot.state), [event.text for event in snapshot.events])
        assert session.poll() is None, "the session ended"
        time.sleep(0.02)
    return snapshot


def test_a_session_solves_and_reports(tmp_path):
    """Two workers over shared memory: NashConv falls, fps are iterations, the memory was told before it began."""
    session = started(tmp_path, seconds=2, name="run")
    texts = [event.text for event in until(session, lambda seen: seen.state["frames"] > 0).events]
    assert next(place for place, text in enumerate(texts) if text.startswith("table: ")) < next(
        place for place, text in enumerate(texts) if text.startswith("using transport: shm, 2 workers")
    )
    report = session.report()
    assert (report["trainer"], report["backend"], report["num_envs"]) == ("mccfr", "shm", 2)
    assert 0 < report["nash_conv"] < 0.5
    assert report["information_sets"] == 936
    assert report["fps"] == pytest.approx(report["frames"] / report["seconds"], rel=0.5)
    assert sum(report["time_ms"].values()) * report["steps"] == pytest.approx(1000 * report["seconds"], rel=0.1)
    assert RunFolder.find(tmp_path, "run").card()["nash_conv"] == report["nash_conv"]


def test_it_goes_on_with_another_number_of_workers(tmp_path):
    """Three workers go on where two were interrupted: no count is lost, and the numbers of iterations go on."""
    first = started(tmp_path, name="run")
    until(first, lambda seen: seen.state["iterations"] > 0)
    first.terminate()
    before = first.report()
    saved = load_newest(RunFolder.find(tmp_path, "run").checkpoints)
    assert saved.data["data"]["iterations"] == saved.data["counters"]["frames"] == before["frames"]
    second = started(tmp_path, resume="run", num_envs=3, seconds=1)
    after = second.report()
    again = load_newest(RunFolder.find(tmp_path, "run").checkpoints)
    assert after["num_envs"] == 3
    assert again.data["data"]["iterations"] == after["frames"] > before["frames"]
    assert (again.tensors["updates"] >= saved.tensors["updates"]).all()


def test_it_stops_after_so_many_iterations(tmp_path):
    """With batches of a known size, it makes exactly as many as are asked for."""
    report = started(tmp_path, frames=6000, settings={"batch": 1000}).report()
    assert report["frames"] == 6000


def test_kuhn_says_why_it_has_one_worker(tmp_path):
    """Where two are asked for, one is taken; what it learns is no episode that could be recorded."""
    session = started(tmp_path, task="kuhn", seconds=3)
    seen = until(session, lambda seen: seen.state["frames"] > 0)
    assert any(event.text.startswith("one worker: kuhn has 12 information sets") for event in seen.events)
    with closing(SessionClient(session.directory)) as client, pytest.raises(CommandRefused, match="no episodes"):
        client.call("record", env=0)
    assert session.report()["num_envs"] == 1


def test_a_killed_session_loses_one_interval_at_most(tmp_path):
    """What was saved before the kill is what the next one begins with."""
    session = started(tmp_path, name="run", checkpoint_every=0.2)
    seen = until(session, lambda seen: sum(event.text.startswith("checkpoint at") for event in seen.events) >= 2)
    session.kill()
    with pytest.raises(SessionFailed, match="SIGKILL"):
        session.report()
    saved = load_newest(RunFolder.find(tmp_path, "run").checkpoints)
    assert saved.data["counters"]["frames"] > 0
    assert saved.skipped == ()
    report = started(tmp_path, resume="run", seconds=0.5).report()
    assert report["frames"] > saved.data["counters"]["frames"] >= seen.state["frames"] // 100


def test_a_killed_worker_is_replaced(tmp_path):
    """The session goes on, an event names the worker, and it comes back."""
    session = started(tmp_path, name="run")
    seen = until(session, lambda seen: seen.state["frames"] > 0 and len(seen.workers) == 2)
    os.kill(int(seen.workers["pid"][1]), signal.SIGKILL)
    seen = until(session, lambda seen: any("is back" in event.text for event in seen.events))
    assert any("killed by SIGKILL" in event.text for event in seen.events)
    counted = seen.state["frames"]
    until(session, lambda seen: seen.state["frames"] > counted)
    session.terminate()
    assert session.report()["nash_conv"] < 0.5
