"""Where threads meet: what they share stays whole, even if one of them is delayed at the worst moment."""

import threading
from collections import deque
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pac.envs import Field, find
from pac.training.config import Config
from pac.training.episode_choice import EpisodeChoice
from pac.training.past import recorder as recording
from pac.training.past.recorder import EpisodeRecorder
from pac.training.past.rewinder import Rewinder
from pac.training.runs import checkpoint
from pac.training.runs.folder import RunFolder
from pac.training.session.checkpoint_manager import CheckpointManager
from pac.training.session.evaluation import EVALUATING, IDLE, Evaluator
from pac.training.session.resume_point import ResumePoint
from pac.training.session.services import Services
from pac.training.session.system_sampler import SystemSampler
from pac.training.session.training_setup import set_up
from pac.training.telemetry.counts import TOTALS
from pac.training.telemetry.events import EventLog
from pac.training.telemetry.moments import MomentSource, moment_dtype
from pac.training.trainers import trainer_kind

from ..waiting import until
from .journey import Journey

DELAY = 0.2
"""Seconds for which a thread is delayed, so that another one overtakes it unless it has to wait."""


def delayed(target, *arguments):
    """Start a thread that a test delays."""
    thread = threading.Thread(target=target, args=arguments)
    thread.start()
    return thread


def test_an_episode_that_is_chosen_while_the_recorder_finishes_is_written(tmp_path, monkeypatch):
    """The thread has just found nothing more to write when another episode is chosen."""
    looked, written = threading.Event(), []

    class Waiting(deque[Any]):
        def __bool__(self):
            if len(self) == 0 and threading.current_thread().name == "recorder":
                looked.set()
                added.wait(DELAY)
                return False
            return len(self) > 0

    added = threading.Event()
    choice = EpisodeChoice.parse("every:1")
    recorder = EpisodeRecorder(find("noop"), 0, "run", tmp_path, EventLog(), choice=choice)
    recorder._chosen = Waiting(maxlen=8)
    monkeypatch.setattr(recording, "rebuilt", lambda *_: None)
    monkeypatch.setattr(recording, "ended_episodes", lambda _: [0])
    monkeypatch.setattr(recorder, "_write", lambda path, _episode: written.append(path.name))
    results: Any = SimpleNamespace(ended_envs=np.zeros(1, int), returns=np.ones((1, 1)), episodes=np.ones(1))
    for number in (0, 1):
        span = SimpleNamespace(episode=number)
        recorder.choose(results, SimpleNamespace(episode_span=lambda *_, span=span: span, resumed=False))  # type: ignore[arg-type]
        assert looked.wait(10)
    added.set()
    for thread in threading.enumerate():
        if thread.name == "recorder":
            thread.join()
    assert len(written) == 2


def test_a_task_that_gets_more_scalars_during_a_replay_can_still_be_replayed(monkeypatch):
    """What was replayed is kept until it is read; the answer is then computed once more, with the new scalars."""
    journey = Journey("noop", 20)
    said: list[np.ndarray] = []
    more, last_part = (
        replace(journey.task, info=(*journey.task.info, Field("more", "float32"))),
        Rewinder._show_first_info,
    )

    def change_then(back, *arguments):
        back.update_task(more)
        last_part(back, *arguments)

    monkeypatch.setattr(Rewinder, "_show_first_info", change_then)
    back = Rewinder(journey.task, journey.seed, lambda: journey.history, said.append, pytest.fail)
    back.request(1, 3)
    until(lambda: said and said[-1]["source"] != MomentSource.WORKING and said[-1].dtype == moment_dtype(more))
    assert said[-1]["source"] == MomentSource.REBUILT, said[-1]["note"]


def test_a_replay_whose_progress_cannot_be_published_is_not_the_last_one():
    """What cannot be published says nothing about the replay."""
    journey, broken = Journey("noop", 20), [True]

    def publish(_moment):
        if broken:
            raise OSError("no segment")

    back = Rewinder(journey.task, journey.seed, lambda: journey.history, publish, pytest.fail)
    back.moment(1, 3)
    broken.clear()
    assert back.moment(1, 3)["source"] == MomentSource.REBUILT


@pytest.fixture
def base(folder):
    """What a session has before there are environments."""
    services = Services(find("noop"), folder)
    services.open_segment(2, run="run", trainer="random", backend="inline", device="cpu", seed=1)
    yield services
    services.gate.close()


def test_what_another_thread_writes_while_the_segment_changes_is_not_lost(base):
    """The sampler is delayed in the middle of a block, and the segment for a task with another scalar opens."""
    entered, changed = threading.Event(), threading.Event()

    class Viewers:
        controller = None

        @property
        def joined(self):
            entered.set()
            changed.wait(DELAY)
            return 3

    base.viewers = Viewers()
    sampler = SystemSampler(base)
    thread = delayed(sampler._write_viewers)
    assert entered.wait(10)
    base.update_task(replace(base.task, info=(*base.task.info, Field("more", "float32"))))
    changed.set()
    thread.join()
    assert base.writer.array("audience")["viewers"] == 3


def test_an_earlier_state_of_another_task_is_not_published(base):
    """It would not fit the segment."""
    moment = np.zeros((), moment_dtype(base.task))
    moment["source"] = MomentSource.REBUILT
    base.update_task(replace(base.task, info=(*base.task.info, Field("more", "float32"))))
    base.show_moment(moment)
    assert base.writer.array("moment")["source"] == MomentSource.NOTHING


def test_an_evaluation_that_has_just_ended_is_not_shown_as_going_on(tmp_path):
    """Its lap ends in one thread, and the training thread shows the laps at that moment."""
    lanes, lapped = [], threading.Event()
    config = Config(task="noop", trainer="ppo", eval_every=1)
    evaluator = Evaluator(set_up(config), tmp_path, EventLog(), lambda _name, laps: lanes.append(laps))
    evaluator._playing, lap = True, evaluator._timer.lap

    def slow_lap(phase):
        spent = lap(phase)
        lapped.set()
        threading.Event().wait(DELAY)
        return spent

    evaluator._timer.lap = slow_lap  # type: ignore[method-assign]
    thread = delayed(evaluator._heard)
    assert lapped.wait(10)
    phases = [lap.phase for lap in lanes[0]()]
    assert phases[-2:] == [EVALUATING, IDLE]
    evaluator._timer.lap = lap  # type: ignore[method-assign]
    thread.join()


def test_a_checkpoint_is_reported_as_what_it_is(tmp_path, monkeypatch):
    """Another one begins while it is being written."""
    free, events = threading.Event(), EventLog()
    monkeypatch.setattr(checkpoint, "save", lambda *_, **_marks: free.wait(10))
    run = RunFolder(tmp_path)
    setup: Any = SimpleNamespace(config=Config(), kind=trainer_kind("ppo"))
    counter = SimpleNamespace(clock=SimpleNamespace(now=lambda: 0.0))
    services: Any = SimpleNamespace(counter=counter, events=events)
    record: Any = SimpleNamespace(source=run, folder=run, identity={})
    failures: Any = None
    manager = CheckpointManager(setup, services, record, failures)
    trainer = SimpleNamespace(state=lambda: ({}, {}))
    for steps in (10, 20):
        manager._resume_point = ResumePoint(dict.fromkeys(TOTALS, steps), 0.0, 1, None)
        thread = delayed(manager.save, trainer)
        thread.join(DELAY)
    free.set()
    thread.join()
    manager.close()
    assert [event[4].partition(";")[0] for event in events.recent] == [f"checkpoint at {n} steps" for n in (10, 20)]
