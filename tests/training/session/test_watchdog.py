"""A session that does not respond is ended: what can be saved is saved, and nothing is left behind."""

import json
import os
import signal
import subprocess
import time

import psutil
import pytest

from pac.training.runs.folder import RunFolder
from pac.training.session.host import SessionFailed

from ...waiting import until
from ..watched import running, session

pytestmark = pytest.mark.session


@pytest.fixture
def stuck(tmp_path):
    """Return a session with an environment that is blocked."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def started(where="step", *, stop_timeout=0.3, before=300, **options):
        task = f"tests.training.stuck:Stuck:pipe={pipe},where={where},steps={before}"
        return session(tmp_path, task=task, name="run", num_envs=1, stop_timeout=stop_timeout, **options)

    return started


def gets_stuck(tmp_path):
    """Wait until the environment is blocked."""
    until((tmp_path / "pipe.stuck").exists, "an environment that is stuck")


def outcome(watched):
    """Wait until a session has ended, and return its report, or raise why there is none."""
    until(lambda: watched.process.poll() is not None, "the end of the session")
    return watched.process.report()


def metadata(tmp_path):
    return json.loads((tmp_path / "run" / "run.json").read_text())


def test_a_session_that_is_blocked_is_ended(stuck, tmp_path):
    """After `stop_timeout` without progress: it reports where, saves what was learned, and leaves nothing behind.

    Not even a process that an environment has started in the session's own process.
    """
    with stuck("process") as watched:
        gets_stuck(tmp_path)
        sleeping = psutil.Process(int((tmp_path / "pipe.pid").read_text()))
        os.kill(watched.process.pid, signal.SIGTERM)
        with pytest.raises(SessionFailed, match=r"made no progress for \d+ s; its main thread is in .*stuck"):
            outcome(watched)
        assert watched.process.poll() == 1
        assert not watched.process.directory.exists()
        sleeping.wait(60)
    assert metadata(tmp_path)["state"] == "failed"
    assert "made no progress" in metadata(tmp_path)["error"]
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1
    log = (tmp_path / "run" / "session.log").read_text()
    assert "CRITICAL Session did not respond" in log
    assert 'stuck.py", line' in log


def test_a_session_that_is_blocked_ends_without_a_viewer(stuck, tmp_path):
    """`linger` works although the training thread does not respond."""
    with stuck(linger=0) as watched:
        gets_stuck(tmp_path)
        watched.client.close()
        with pytest.raises(SessionFailed, match="made no progress"):
            outcome(watched)


def test_a_session_that_is_blocked_at_its_start_is_ended(stuck, tmp_path):
    """Nothing was learned yet, so there is nothing to save; the run's metadata says what happened."""
    with stuck("reset") as watched:
        gets_stuck(tmp_path)
        os.kill(watched.process.pid, signal.SIGTERM)
        with pytest.raises(SessionFailed, match="made no progress"):
            outcome(watched)
    assert metadata(tmp_path)["state"] == "failed"


@pytest.mark.parametrize("stop", [False, True])
def test_an_evaluation_that_is_blocked_is_left_out(stuck, tmp_path, stop):
    """The training has saved what it learned before, and is completed, after a while or when it is asked to stop."""
    small = {"batch": 64, "minibatch": 64, "epochs": 1, "hidden": 16, "threads": 1}
    options = {"before": 5, "steps": 128, "trainer": "ppo", "settings": small, "eval_every": 2, "eval_episodes": 1}
    with stuck("evaluation", **options) as watched:
        gets_stuck(tmp_path)
        if stop:
            os.kill(watched.process.pid, signal.SIGTERM)
        report = outcome(watched)
    assert any("the last evaluation was not over" in event for event in report["events"])
    assert metadata(tmp_path)["state"] == "completed"
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-000000000128"]
    assert [row["steps"] for row in RunFolder.find(tmp_path, "run").metrics()] == [64, 128]


def test_a_second_signal_ends_a_session_at_once(stuck, tmp_path):
    """It does not wait; signals that come together with the first are the same request."""
    with stuck(stop_timeout=3600.0) as watched:
        gets_stuck(tmp_path)
        begun = time.monotonic()

        def signalled():
            if watched.process.poll() is None:
                os.kill(watched.process.pid, signal.SIGINT)
            return watched.process.poll() is not None

        until(signalled, "the end of the session")
        assert time.monotonic() - begun >= 0.3
        with pytest.raises(SessionFailed, match="SIGINT"):
            outcome(watched)
        assert watched.process.poll() == 130
        assert not watched.process.directory.exists()
    assert metadata(tmp_path)["state"] == "interrupted"


@pytest.fixture
def crowded():
    """Return a function that lets the main thread of a process share one core with eight other processes."""
    others: list[subprocess.Popen[bytes]] = []

    def share(pid):
        core = min(os.sched_getaffinity(0))
        spin = ["sh", "-c", "while :; do :; done"]
        # Linux may give each session of processes, not each process, the same share of a core.
        others.extend(subprocess.Popen(spin, start_new_session=True) for _ in range(8))
        for process in (pid, *(other.pid for other in others)):
            os.sched_setaffinity(process, {core})

    yield share
    for other in others:
        other.kill()
        other.wait(60)


@pytest.mark.parametrize("alone", [True, False])
def test_a_session_that_computes_has_more_time(stuck, crowded, tmp_path, alone):
    """A step that computes has several times the limit, also if it has to share its core."""
    with stuck("spin") as watched:
        gets_stuck(tmp_path)
        if not alone:
            crowded(watched.process.pid)
        begun = time.monotonic()
        os.kill(watched.process.pid, signal.SIGTERM)
        # On a crowded core, the timer of `test_native_code_that_keeps_the_gil_is_ended_by_a_timer` may be first.
        with pytest.raises(SessionFailed, match=r"made no progress|without a report"):
            outcome(watched)
        assert time.monotonic() - begun >= 4 * 0.3


def test_native_code_that_keeps_the_gil_is_ended_by_a_timer(stuck, tmp_path):
    """No Python code can run; the timer logs the traceback, and the process that started the session cleans up."""
    with stuck("close", before=10**6) as watched:
        watched.until(running)
        os.kill(watched.process.pid, signal.SIGTERM)
        with pytest.raises(SessionFailed, match="without a report"):
            outcome(watched)
        assert not watched.process.directory.exists()
    log = (tmp_path / "run" / "session.log").read_text()
    assert "Timeout" in log
    assert 'stuck.py", line' in log


def test_a_thread_of_an_environment_does_not_keep_the_process_alive(stuck):
    """The session has ended and reported; then the rest of the process is ended."""
    with stuck("thread", before=10**6) as watched:
        watched.until(running)
        assert watched.end()["steps"] > 0
        assert watched.process.poll() == 0
        assert not watched.process.directory.exists()
