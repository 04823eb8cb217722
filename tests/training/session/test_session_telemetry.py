"""What a session publishes of a trainer with many metrics, of its processes and of its training thread."""

import os
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import pairwise

import pytest

from pac.backends.system.segment import new_directory, remove_directory
from pac.training import trainers
from pac.training.config import Config
from pac.training.random_policy import RandomPolicy
from pac.training.runs.folder import RunFolder
from pac.training.session.session import Session
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.metric_history import TooManyMetrics
from pac.training.telemetry.segment_layout import MAX_METRICS
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.trainer import PHASES
from pac.training.trainers import TrainerKind

from ...waiting import until
from ..watched import session

pytestmark = pytest.mark.session


class ManyMetrics(RandomPolicy):
    """Reports as many metrics as `count`."""

    count = 150

    def iterate(self):
        return super().iterate() | {f"figure{k}": float(k) for k in range(self.count)}


class TooMany(ManyMetrics):
    """Reports more than there is room for."""

    count = MAX_METRICS + 1


@contextmanager
def running(tmp_path, monkeypatch, trainer=ManyMetrics):
    """A session of a test's trainer in a thread of this process, and what it returns."""
    settings = "pac.training.settings:TrainerSettings"
    name = f"metrics-{trainer.count}"
    kind = TrainerKind(name, "Many metrics", f"{__name__}:{trainer.__name__}", settings, computes=False)
    monkeypatch.setitem(trainers.BUILT_IN, name, kind)
    config = Config(task="noop", trainer=name, num_envs=2, backend="inline", runs_dir=tmp_path, name="run")
    session = Session(config, new_directory(), headless=True)
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(session.run)
        try:
            yield session, ended
        finally:
            session.stop()
            wait([ended])
            remove_directory(session.directory)


def seen(session, **look):
    return take_snapshot(TelemetryReader(session.directory), ViewRequest(count=0, **look))


def test_all_metrics_of_a_trainer_are_kept(tmp_path, monkeypatch):
    """On the screen and in `metrics.jsonl`: the last one too. The training thread has a lane with its last phases."""
    with running(tmp_path, monkeypatch) as (session, _):
        until(lambda: "figure149" in seen(session, curves=("figure149",)).curves, "the last metric")
        assert seen(session).metrics["figure149"] == 149
        (lane,) = until(lambda: [lane for lane in seen(session, timeline=True).lanes if lane.laps], "phases")
    assert (lane.name, lane.pid) == ("training", os.getpid())
    assert {lap.phase for lap in lane.laps} <= set(PHASES)
    assert all(lap.begin <= lap.end for lap in lane.laps)
    assert all(lap.end <= after.begin for lap, after in pairwise(lane.laps))
    assert RunFolder.find(tmp_path, "run").metrics()[-1]["figure149"] == 149


def test_too_many_metrics_end_the_session_with_an_error(tmp_path, monkeypatch):
    """It says how many there may be."""
    with (
        running(tmp_path, monkeypatch, TooMany) as (_, ended),
        pytest.raises(TooManyMetrics, match=f"limit of {MAX_METRICS} metrics reached"),
    ):
        ended.result(60)


@pytest.mark.parametrize("backend", ["inline", "shm"])
def test_a_viewer_is_told_that_drawing_is_limited(tmp_path, backend):
    """The training goes on at its speed, and an event says how often there is a picture."""
    with session(tmp_path, task="tests.training.unruly:Unruly:how=draws_slowly", backend=backend) as watched:
        watched.call("look", count=4)
        told = "drawing is limited to 1% of the training: a picture takes"
        watched.until(lambda seen: any(told in event.text for event in seen.events))
