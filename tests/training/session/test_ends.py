"""What is queued when environments are closed for a restart, or when a session ends, is not lost."""

import threading
from functools import partial
from operator import attrgetter
from typing import Any

import pytest

from pac.training.config import Config
from pac.training.diagnosis.session_rules import WORKER_FAILED
from pac.training.random_policy import RandomPolicy
from pac.training.runs.checkpoint import CheckpointNotWritten
from pac.training.runs.folder import RunFolder
from pac.training.runs.tensorboard_log import TensorBoardLog
from pac.training.session.session import Session
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

pytestmark = pytest.mark.session


class Talkative(Session):
    """A session in which something is said when it is about to be lost: as events, and as output of a worker."""

    passed = 0

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.passage.enter = partial(self.enter, self.passage.enter)  # type: ignore[method-assign]
        self.services.set_phase = partial(self.set_phase, self.services.set_phase)  # type: ignore[method-assign]

    def enter(self, enter):
        """Pass the gate; before some steps, ask for another N, and for the end."""
        self.passed += 1
        if self.passed == 100:
            self.say("before a restart")
            self.envs.restart(3)
        if self.passed == 200:
            self.say("before the end")
            self.stop()
        enter()

    def set_phase(self, set_phase, phase, message, **options):
        """Publish a phase, and say something after that."""
        set_phase(phase, message, **options)
        if message in SAID:
            self.say(message)

    def say(self, text):
        """Add an event as of a worker that was replaced, and output that is there until the environments are closed."""
        backend: Any = self.envs.backend
        log = self.directory / "fleet-1-0.log"
        backend._event("warning", text, 0, 0, 1)
        with log.open("a") as file:
            file.write(f"{text}\n")
        backend.close = partial(self.close, backend.close, log)

    @staticmethod
    def close(close, log):
        """Close environments, and remove the output of their workers."""
        close()
        log.unlink(missing_ok=True)


SAID = ["before a restart", "restarting with num_envs=3...", "before the end", "stopping the workers"]


def run(tmp_path, kind=Session, **options):
    """Run a session in this process; return it and its report."""
    (folder := tmp_path / "session").mkdir()
    common = {"task": "noop:length=32", "trainer": "random", "backend": "inline", "num_envs": 2, "name": "run"}
    session = kind(Config(**{**common, "runs_dir": tmp_path, **options}), folder, headless=True)
    return session, session.run()


def test_what_is_queued_when_environments_close_is_kept(tmp_path):
    """Their events are in the telemetry, in the report and counted, and what workers printed is in the run's file."""
    session, report = run(tmp_path, Talkative)
    seen = take_snapshot(TelemetryReader(session.directory), ViewRequest(count=0))
    assert [event.text for event in seen.events if event.text in SAID] == SAID
    assert (seen.phase, seen.message, seen.state["steps"]) == (Phase.ENDED, "ended", report["steps"])
    assert [text for text in report["events"] if text in SAID] == SAID[:3]  # the report is made before the workers end
    assert (report["worker_restarts"], session.failures.worker_restarts) == (3, 4)
    assert [found.rule for found in session.debugger.diagnosis.findings] == [WORKER_FAILED]
    output = (tmp_path / "run" / "workers.log").read_text().splitlines()
    assert output == [f"worker 1: {text}" for text in SAID]


def test_the_last_iteration_is_in_every_file_of_a_run(tmp_path, monkeypatch):
    """Metrics, TensorBoard's curves, `run.json`, and the episodes that ended with the last step."""
    added: list[object] = []
    monkeypatch.setattr(TensorBoardLog, "add", lambda _log, _row, step: added.append(step))
    monkeypatch.setattr(TensorBoardLog, "close", lambda _log: added.append("closed"))
    _, report = run(tmp_path, record="every:1", steps=256)
    for thread in threading.enumerate():
        if thread.name == "recorder":
            thread.join()
    folder = RunFolder.find(tmp_path, "run")
    assert added == [128, 256, "closed"]
    assert [row["steps"] for row in folder.metrics()] == [128, 256]
    assert folder.metadata()["steps"] == report["steps"] == 256
    assert sorted(path.name for path in folder.episodes.iterdir()) == sorted(
        f"env{env}-episode{episode}.jsonl" for env in (1, 2) for episode in (1, 2, 3, 4)
    )


class Blocked(Session):
    """A session whose training thread is blocked in one of its parts from the second iteration on."""

    where = ""
    passed = 0

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.blocked, self.free = threading.Event(), threading.Event()
        self.passage.enter = partial(self.enter, self.passage.enter)  # type: ignore[method-assign]

    def enter(self, enter):
        """Pass the gate; in the second iteration, put a call that blocks into the part."""
        self.passed += 1
        if self.passed == 100:
            owner, _, name = self.where.rpartition(".")
            part = attrgetter(owner)(self)
            setattr(part, name, partial(self.block, getattr(part, name)))
            if name == "detach":
                self.envs.restart(3)
        enter()

    def block(self, call, *arguments, **options):
        """Wait until the test is over, and go on."""
        self.blocked.set()
        self.free.wait()
        return call(*arguments, **options)


@pytest.fixture
def blocked(tmp_path):
    """Return a function that starts a session in a thread, and returns it when it is blocked in a part of it."""
    started = []

    def start(where):
        (folder := tmp_path / "session").mkdir()
        common = {"task": "noop:length=32", "trainer": "random", "backend": "inline", "num_envs": 2, "name": "run"}
        session = Blocked(Config(**common, runs_dir=tmp_path, steps=512), folder, headless=True)
        session.where = where
        thread = threading.Thread(target=session.run)
        started.append((session, thread))
        thread.start()
        assert session.blocked.wait(60)
        return session

    yield start
    for session, thread in started:
        session.free.set()
        thread.join()


@pytest.mark.parametrize(
    ("where", "steps"),
    {
        "envs.backend.advance": 128,
        "gate.enter": 128,
        "trainer.detach": 128,
        "evaluator.end_iteration": 256,
        "services.publish": 256,
        "record.write_row": 256,
        "limits.check": 256,
        "trainer.finish": 512,
        "trainer.close": 512,
    }.items(),
)
def test_the_watchdog_saves_wherever_the_weights_are_consistent(blocked, tmp_path, where, steps):
    """In a step, at the gate, between two iterations, at a restart and at the end: what the last iteration learned."""
    blocked(where).save_from_watchdog()
    assert f"step-{steps:012}" in [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()]


def test_the_watchdog_says_what_is_lost_where_it_cannot_save(blocked):
    """In the middle of an iteration, the trainer may be changing its weights."""
    with pytest.raises(CheckpointNotWritten, match="since the last checkpoint is lost: it was being changed"):
        blocked("trainer._draw").save_from_watchdog()


def test_a_line_of_the_metrics_has_all_figures_of_the_last_iteration(tmp_path, monkeypatch):
    """Also those that the trainer returns at the end, when the checkpoint is written: no line is repeated."""
    folder = RunFolder(tmp_path / "run")
    monkeypatch.setattr(RandomPolicy, "finish", lambda _: {"saved": float(len(list(folder.checkpoints.iterdir())))})
    _, report = run(tmp_path, steps=256)
    assert [(row["steps"], row.get("saved")) for row in folder.metrics()] == [(128, None), (256, 1)]
    assert report["metrics"]["saved"] == 1


class Halted(Session):
    """A session that is stopped within its first rollout."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.passage.enter = partial(self.enter, self.passage.enter)  # type: ignore[method-assign]
        self.passed = 0

    def enter(self, enter):
        self.passed += 1
        if self.passed == 100:
            self.stop()
        enter()


def test_steps_of_a_rollout_that_was_not_finished_reach_no_limit(tmp_path):
    """They are discarded, so the training is interrupted, and can go on to its limit."""
    _, report = run(tmp_path, Halted, trainer="ppo", settings={"batch": 4096}, steps=150)
    metadata = RunFolder.find(tmp_path, "run").metadata()
    assert report["discarded_steps"] >= 150
    assert (metadata["state"], metadata["iterations"]) == ("interrupted", 0)
    assert not report["reason"]
