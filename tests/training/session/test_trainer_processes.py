"""A trainer with a process of its own: it reads the buffer, passes the gate, and its failure is reported."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from pac.training.session.host import SessionFailed

from ...packages import install
from ...titles import runs
from ...waiting import until
from ..watched import running, session

pytestmark = pytest.mark.session

CODE = Path(__file__).with_name("follower.py").read_text()


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """Install the trainer `follower`; return a function that returns what its process has written."""
    install(tmp_path, "follower", {"follower.py": CODE}, {"pac.trainers": {"follower": "follower:KIND"}})
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    file = tmp_path / "lines"

    def read():
        return file.read_text().splitlines() if file.exists() else []

    return read


@pytest.fixture
def following(tmp_path, lines):
    """Return a function that starts a session of the trainer, with some settings."""

    def start(backend="inline", **settings):
        settings = {"file": str(tmp_path / "lines"), **settings}
        return session(tmp_path / "runs", trainer="follower", task="noop:length=7", backend=backend, settings=settings)

    return start


def process_of(watched):
    """Return the process that the trainer started."""
    children = psutil.Process(watched.process.pid).children(recursive=True)
    (found,) = [child for child in children if runs(child, "pac.backends.workers.worker")]
    return found


@pytest.mark.parametrize("backend", ["inline", "shm"])
def test_a_process_reads_the_observations_in_the_buffer(following, lines, backend):
    """The first number that noop's environments observe is the share of the episode that is over.

    The process is listed among those of the session, as a learner, with the number of its passes.
    """
    with following(backend) as watched:
        watched.until(running)
        until(lambda: len(set(lines())) > 1, "observations that change")
        table = watched.until(lambda snapshot: b"learner" in snapshot.processes["role"]).processes
        assert table["role"].tolist()[-2:] == [b"actor", b"learner"]
        assert table[-1]["name"] == b"process 1 of follower:follow"
        watched.until(lambda snapshot: snapshot.processes["count"][-1] > 0)
        assert {round(7 * float(line), 4) for line in lines()} <= set(range(8))
        assert watched.end()["steps"] > 0


def test_pause_and_stop_hold_for_a_process(following, lines):
    """A paused session lets it pass no more; a stopped one ends it."""
    with following() as watched:
        watched.until(running)
        process = process_of(watched)
        until(lines, "a pass of the gate")
        watched.pause()
        until(lambda: process.status() == psutil.STATUS_SLEEPING, "the gate blocks the process")
        count = len(lines())
        watched.call("step")
        until(lambda: len(lines()) == count + 1, "one pass")
        watched.end()
        assert not process.is_running()


def test_the_death_of_a_process_ends_the_session_with_an_error(following):
    """It is reported at once, also while the session is paused; the next step raises it."""
    with following() as watched:
        watched.until(running)
        process = process_of(watched)
        watched.pause()
        process.send_signal(signal.SIGKILL)
        watched.until(lambda snapshot: any("killed by SIGKILL" in event.text for event in snapshot.events))
        watched.call("resume")
        with pytest.raises(SessionFailed, match="process 1 of follower:follow failed: killed by SIGKILL"):
            watched.process.report()


def test_an_exception_in_a_process_is_reported_with_its_traceback(following):
    """The error of the session contains it."""
    with (
        following(crash=3) as watched,
        pytest.raises(SessionFailed, match=r"(?s)broken observation.*Traceback.*in follow"),
    ):
        watched.process.report()


def test_a_trainer_can_restart_its_process(following):
    """The error is raised where the trainer steps, and the step can be repeated; it is in the table of processes."""

    def failed_twice(snapshot):
        learner = snapshot.processes[snapshot.processes["role"] == b"learner"]
        return len(learner) and learner["restarts"][0] >= 2 and b"broken observation" in learner["error"][0]

    with following(crash=3, restarts=1000) as watched:
        watched.until(failed_twice)


def test_a_restart_with_another_n_stops_the_old_process(following):
    """The new one maps the new buffer."""
    with following() as watched:
        watched.until(running)
        before = process_of(watched)
        watched.call("restart", num_envs=3)
        watched.until(lambda snapshot: snapshot.num_envs == 3 and running(snapshot))
        assert not before.is_running()
        assert process_of(watched).is_running()
        report = watched.end()
        assert report["restarts"] == 1
