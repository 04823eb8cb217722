"""Faults of a real session: signals, kills, alarms, full disks, and impossible configurations."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from pac.training.config import Config
from pac.training.runs.folder import RunFolder
from pac.training.session.host import SessionFailed, launch
from pac.training.telemetry.records import Level, Notice

from ..watched import run_here, running, session, unwritable

pytestmark = pytest.mark.session

ISOLATED = pytest.mark.parametrize(
    "backend", ["shm", *(pytest.param(name, marks=pytest.mark.slow) for name in ("socket", "http"))]
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_session_with_its_report(tmp_path, number):
    """SIGTERM, SIGINT and SIGHUP save and stop; nothing stays in the runtime directory."""
    with session(tmp_path) as watched:
        watched.until(running)
        os.kill(watched.process.pid, number)
        assert watched.process.report()["steps"] > 0
        assert not watched.process.directory.exists()


def test_a_session_that_nobody_watches_ends(tmp_path):
    """After `linger` seconds without a viewer it stops by itself, but waits for the first viewer."""
    with session(tmp_path, linger=0) as watched:
        watched.until(running)
        watched.client.close()
        assert watched.process.report()["steps"] > 0


@ISOLATED
def test_a_killed_session_leaves_no_worker_and_its_directory_is_removed(tmp_path, backend):
    """kill -9 of the session: workers end by themselves, and the process that started it removes its directory."""
    with session(tmp_path, task="drmario", backend=backend) as watched:
        pids = watched.until(lambda snapshot: running(snapshot) and len(snapshot.processes)).processes["pid"].tolist()
        os.kill(watched.process.pid, signal.SIGKILL)
        left = watched.process.directory
        assert left.exists()
        with pytest.raises(SessionFailed, match="SIGKILL"):
            watched.process.report()
        assert not left.exists()
        psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=120)
        assert not [pid for pid in pids if psutil.pid_exists(pid)]


@ISOLATED
def test_a_killed_worker_is_replaced_and_training_continues(tmp_path, backend):
    """kill -9 of a worker: event and log name it, and a new worker replaces it."""
    with session(tmp_path, task="drmario", backend=backend) as watched:
        seen = watched.until(lambda snapshot: running(snapshot) and len(snapshot.processes))
        os.kill(int(seen.processes["pid"][0]), signal.SIGKILL)
        seen = watched.until(
            lambda snapshot: (
                snapshot.processes["restarts"].sum() >= 1 and any("SIGKILL" in event.text for event in snapshot.events)
            )
        )
        (log,) = tmp_path.glob("*/session.log")
        assert "SIGKILL" in log.read_text()
        steps = seen.state["steps"]
        watched.until(lambda snapshot: snapshot.state["steps"] > steps + 1000)


def test_a_finding_ends_a_session_with_alarm_exit(tmp_path):
    """A failed worker is one: the session fails with its text, and what was learned is saved."""
    with session(tmp_path, name="run", backend="shm", alarm_exit=True) as watched:
        seen = watched.until(lambda snapshot: snapshot.state["iterations"] > 0 and len(snapshot.processes))
        os.kill(int(seen.processes["pid"][0]), signal.SIGKILL)
        with pytest.raises(SessionFailed, match="SIGKILL") as caught:
            watched.process.report()
        assert (caught.value.title, caught.value.code) == ("Finding", 1)
        assert [event.level for event in watched.see().events if "SIGKILL" in event.text] == [Level.FATAL]
        assert list(RunFolder.find(tmp_path, "run").checkpoints.iterdir())


def test_a_checkpoint_that_cannot_be_written_is_a_finding(tmp_path):
    """It is in the report, and ends a session with --alarm-exit; otherwise the training continues."""
    with session(tmp_path, name="run") as watched:
        watched.until(running)
        with unwritable(tmp_path / "run" / "checkpoints"):
            watched.call("checkpoint")
            watched.until(lambda snapshot: any("no checkpoint was saved" in event.text for event in snapshot.events))
        report = watched.end()
        (alarm,) = report["alarms"]
        assert "a directory was expected" in alarm
        assert alarm in report["events"]
    with session(tmp_path, name="strict", alarm_exit=True) as watched:
        watched.until(running)
        with unwritable(tmp_path / "strict" / "checkpoints"):
            watched.call("checkpoint")
            with pytest.raises(SessionFailed, match="no checkpoint was saved") as caught:
                watched.process.report()
        assert (caught.value.title, caught.value.code) == ("Finding", 1)


def test_nan_is_a_finding_and_marks_its_board(tmp_path):
    """An observation with NaN is reported without a breakpoint."""
    with session(tmp_path, task="tests.training.nowhere:Nowhere", num_envs=2) as watched:
        found = "env 1: observation is NaN, and in 1 more environment"
        watched.until(lambda snapshot: any(event.text == f"diagnosis: {found}" for event in snapshot.events))
        watched.until(lambda snapshot: (snapshot.environments["notice"] == Notice.ALARM).all())
        assert watched.end()["alarms"] == [found]


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        ({"task": "drmaria"}, 2, "Did you mean drmario"),
        ({"trainer": "pqo"}, 2, "Did you mean ppo"),
        ({"backend": "shn"}, 2, "Did you mean shm"),
        ({"trainer": "ppo", "settings": {"learning_rat": 1}}, 2, "learning_rate"),
        ({"resume": "nothing"}, 2, "unknown run"),
    ],
)
def test_a_session_that_cannot_start_says_why(tmp_path, options, code, sentence):
    """In one sentence, with the exit code for invalid usage; no process remains."""
    with pytest.raises(SessionFailed, match=sentence) as caught:
        launch(Config(runs_dir=tmp_path, **options))
    assert caught.value.code == code
    assert not RunFolder.all(Path(tmp_path))


def test_an_unknown_device_fails_after_the_start_with_its_sentence(tmp_path):
    """The device is known once PyTorch is loaded; the session ends with code 2 and leaves no run."""
    with session(tmp_path, trainer="ppo", device="tpu") as watched:
        with pytest.raises(SessionFailed, match="auto, cpu, cuda"):
            watched.process.report()
        assert watched.process.poll() == 2
        assert not list(tmp_path.iterdir())


def test_final_figures_that_fail_do_not_prevent_a_checkpoint(tmp_path, monkeypatch):
    """The session fails, and what it learned is saved."""

    def finish(_trainer):
        raise ArithmeticError("no best response")

    monkeypatch.setattr("pac.training.mccfr.trainer.MCCFR.finish", finish)
    with pytest.raises(ArithmeticError, match="no best response"):
        run_here(tmp_path, task="kuhn", backend="inline", frames=100, settings={"batch": 50}, name="run")
    folder = RunFolder.find(tmp_path, "run")
    assert folder.metadata()["state"] == "failed"
    assert list(folder.checkpoints.iterdir())
