"""The output of workers is kept in the run's folder."""

import pytest

from pac.training.runs import worker_output
from pac.training.runs.worker_output import WorkerOutput

from ..talker import TALKER
from ..watched import session


@pytest.fixture
def copied(tmp_path):
    """What keeps the output of the workers of a session, whose files the test writes."""
    (tmp_path / "run").mkdir()
    return WorkerOutput(tmp_path, tmp_path / "run" / "workers.log")


def test_lines_are_kept_once_after_the_name_of_their_worker(tmp_path, copied):
    """Also if a line is written in two parts, and after the worker's own file was emptied."""
    log, kept = tmp_path / "fleet-1-0.log", tmp_path / "run" / "workers.log"
    log.write_bytes(b"one\ntw")
    copied.copy()
    copied.copy()
    assert kept.read_text() == "worker 1: one\n"
    log.write_bytes(b"one\ntwo\n")
    copied.copy()
    log.write_bytes(b"new\n")
    copied.copy()
    assert kept.read_text() == "worker 1: one\nworker 1: two\nworker 1: new\n"


def test_a_large_file_is_renamed_and_the_one_before_it_is_replaced(tmp_path, copied, monkeypatch):
    """So a run that prints for days fills no disk."""
    monkeypatch.setattr(worker_output, "MAX_BYTES", 10)
    log, folder = tmp_path / "fleet-1-0.log", tmp_path / "run"
    text = b""
    for line in (b"first line\n", b"second line\n", b"third\n"):
        text += line
        log.write_bytes(text)
        copied.copy()
    assert sorted(path.name for path in folder.iterdir()) == ["workers.log.1"]
    assert (folder / "workers.log.1").read_text() == "worker 1: third\n"


@pytest.mark.session
def test_all_that_the_workers_of_a_session_printed_is_kept(tmp_path):
    """To the last line, without a viewer, in the folder of the run."""
    with session(tmp_path, task=TALKER, backend="shm", num_envs=2, workers=2, steps=600) as watched:
        watched.process.report()
    (run,) = tmp_path.iterdir()
    lines = (run / "workers.log").read_text().splitlines()
    for worker in (1, 2):
        own = [line for line in lines if line.startswith(f"worker {worker}: step ")]
        numbers = [int(line.split()[3]) for line in own]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= 300
