"""What a session that died leaves to be looked at."""

import os
from dataclasses import replace

import pytest

from pac.backends.system.segment import runtime_directory
from pac.envs import BadParameter, find
from pac.training.runs import sessions as module
from pac.training.runs.folder import LAST, RunFolder
from pac.training.runs.last_telemetry import remove_dead_sessions
from pac.training.runs.sessions import AmbiguousSession, find_session, read_session, sessions
from pac.training.telemetry.blocks import TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import Phase
from pac.training.telemetry.segment_layout import VERSION, OtherVersion

from ...folders import runtime
from ...toys import FACTS

NOBODY = "999999999-1-00"


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """A runtime directory without the sessions that other tests have run in this process."""
    with runtime() as folder:
        monkeypatch.setenv("PAC_RUNTIME_DIR", str(folder))
        yield


def dead_session(folder):
    """Leave what a killed session of the run in `folder` leaves; return its directory and the writer."""
    task, died = find("drmario"), runtime_directory() / NOBODY
    died.mkdir()
    return died, TelemetryWriter(describe(task, **FACTS, folder=str(folder)), 4, 1, died)


def test_a_session_that_was_killed_inside_a_block_is_kept(tmp_path):
    """Wherever it was killed, its last state can be read in its run's folder."""
    died, writer = dead_session(tmp_path)
    with writer.write("state") as state:
        state["phase"], state["num_envs"] = Phase.RUNNING, 4
        remove_dead_sessions()
    assert not died.exists()
    kept = read_session(tmp_path / LAST, 0, alive=False)
    assert kept is not None
    assert kept.snapshot.num_envs == 4


@pytest.mark.parametrize(
    ("state", "marked"), [("running", "died"), ("starting", "died"), ("completed", "completed"), ("failed", "failed")]
)
def test_the_run_of_a_killed_session_is_marked(tmp_path, state, marked):
    """Its metadata does not say forever that it is running; what ended by itself stays as it was."""
    run = RunFolder.create(tmp_path, "run")
    run.write_metadata({"task": "drmario", "state": state})
    dead_session(run.path)
    remove_dead_sessions()
    assert run.metadata() == {"task": "drmario", "state": marked}


def test_a_run_that_is_trained_again_is_not_marked(tmp_path):
    """Whoever holds its claim writes its metadata."""
    run = RunFolder.create(tmp_path, "run")
    run.write_metadata({"task": "drmario", "state": "running"})
    dead_session(run.path)
    other = RunFolder(run.path)
    other.claim()
    remove_dead_sessions()
    other.release()
    assert run.metadata()["state"] == "running"


def test_telemetry_of_another_version_is_refused_by_its_version(tmp_path):
    """The error names both versions; the sessions that live are listed as before."""
    dead_session(tmp_path / "runs" / "old")
    (tmp_path / "runs" / "old").mkdir(parents=True)
    remove_dead_sessions()
    (kept,) = (tmp_path / "runs" / "old" / LAST).glob("telemetry.*")
    with kept.open("r+b") as file:
        file.seek(4)
        file.write((3).to_bytes(4, "little"))
    with pytest.raises(OtherVersion, match=f"telemetry of version 3, and this pac-tui reads version {VERSION}"):
        find_session("old", tmp_path / "runs")
    assert sessions() == []


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"TCAP"),
        lambda path: path.write_bytes(bytes(4096)),
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("nowhere"),
    ],
)
def test_damaged_telemetry_of_a_dead_session_is_nobodys_trouble(tmp_path, make):
    """It is not listed, keeps no other session from being found, and is removed by the next start."""
    died = runtime_directory() / NOBODY
    died.mkdir()
    make(died / "telemetry.1")
    assert sessions() == []
    (tmp_path / "run" / LAST).mkdir(parents=True)
    make(tmp_path / "run" / LAST / "telemetry.1")
    with pytest.raises(BadParameter, match="no session is called 'run'"):
        find_session("run", tmp_path)
    remove_dead_sessions()
    assert not died.exists()


@pytest.fixture
def found(tmp_path):
    """Return a function that returns a session as it is found, with other facts about it."""
    directory, writer = dead_session(tmp_path)
    died = read_session(directory, 0, alive=False)
    assert died is not None

    def get(pid, run, started=0.0, **facts):
        about = replace(died.snapshot.description, run=run, **facts)
        state = {**died.snapshot.state, "started": started}
        return replace(died, pid=pid, alive=True, snapshot=replace(died.snapshot, description=about, state=state))

    yield get
    writer.unlink()
    directory.rmdir()


def test_two_sessions_of_one_name_are_ambiguous(monkeypatch, tmp_path, found):
    """Unlike the ranks of one training, of which the first is meant."""
    twins = [found(1, "same"), found(2, "same")]
    monkeypatch.setattr(module, "sessions", lambda: twins)
    with pytest.raises(AmbiguousSession, match=r"same \(process 1\), same \(process 2\)"):
        find_session("same", tmp_path)
    ranks = [found(3, "t.rank1", rank=1, ranks=2), found(4, "t", rank=0, ranks=2)]
    monkeypatch.setattr(module, "sessions", lambda: ranks)
    assert find_session("t", tmp_path).pid == 4


def test_ranks_are_listed_in_order(monkeypatch, found):
    """Whichever started first; trainings are listed by the start of their first rank."""
    known = {
        "late": found(1, "late", 4.0),
        "t": found(1, "t", 2.0, rank=0, ranks=2),
        "t.rank1": found(1, "t.rank1", 1.0, rank=1, ranks=2),
        "between": found(1, "between", 1.5),
    }
    monkeypatch.setattr(module, "directories", lambda: [(name, 1, True) for name in known])
    monkeypatch.setattr(module, "read_session", lambda path, _pid, **_: known[path])
    assert [session.name for session in sessions()] == ["t", "t.rank1", "between", "late"]
