"""Run folders are made, found, listed and never overwritten."""

import json
import os

import numpy as np
import pytest

from pac.envs import BadParameter, UnknownName
from pac.training.runs.folder import RunFolder, new_name
from pac.training.runs.metadata import RunFolderError
from pac.training.runs.metrics import DISCARDED

from ...programs import talking

CLAIMING = """
import sys, time
from pathlib import Path
from pac.training.runs.folder import RunFolder

run = RunFolder(Path(sys.argv[1]))
run.claim()
print("claimed", flush=True)
time.sleep(60)
"""


def test_a_taken_name_gets_a_number(tmp_path):
    """Two runs of one name stand side by side."""
    assert [RunFolder.create(tmp_path, "a").name for _ in range(3)] == ["a", "a-2", "a-3"]


@pytest.mark.parametrize("kept", [False, True])
def test_a_run_that_could_not_begin_leaves_nothing(tmp_path, kept):
    """The folder of all runs goes with its first one, and stays if it was there before."""
    runs = tmp_path / "runs"
    if kept:
        runs.mkdir()
    run = RunFolder.create(runs, "a")
    run.claim()
    run.remove_if_empty()
    run.release()
    assert [path.name for path in tmp_path.rglob("*")] == ["runs"] * kept


def test_a_run_is_found_by_name_and_by_folder(tmp_path):
    """The error about an unknown name suggests the nearest one; without any run, it says how to begin one."""
    with pytest.raises(BadParameter, match="no runs yet"):
        RunFolder.find(tmp_path, "drmario-2")
    run = RunFolder.create(tmp_path, "drmario-1")
    run.write_metadata({"task": "drmario"})
    assert RunFolder.find(tmp_path, "drmario-1").path == RunFolder.find(tmp_path, str(run.path)).path == run.path
    with pytest.raises(UnknownName, match="Did you mean drmario-1"):
        RunFolder.find(tmp_path, "drmario-2")


def test_the_latest_is_the_one_that_saved_last(tmp_path):
    """One that saved nothing cannot be resumed."""
    runs = [RunFolder.create(tmp_path, name) for name in ("a", "b", "c")]
    for age, run in enumerate(reversed(runs)):
        run.write_metadata({})
        os.utime(run.path / "run.json", (1000 - age, 1000 - age))
    for run in runs[:2]:
        (run.checkpoints / "step-000000000001").mkdir()
    assert RunFolder.find(tmp_path, "latest").name == "b"


def test_runs_dir_that_is_a_file_is_a_clear_error(tmp_path):
    """The sentence says what to do."""
    (tmp_path / "runs").write_text("")
    with pytest.raises(RunFolderError, match="--runs-dir"):
        RunFolder.create(tmp_path / "runs", "a")


@pytest.mark.parametrize(
    ("lines", "counted"),
    [
        # A resumed run goes on from where it had saved: what it had done after that, and lost, is no part of it.
        (((1, 10), (2, 20), (3, 30), (4, 40), (3, 31), (4, 41), (5, 51), (5, 52)), [10, 20, 31, 41, 52]),
        # The line of an unfinished rollout comes after that of the last whole iteration, which stays ...
        (((1, 10), (1, 17, 7)), [10, 17]),
        # ... until a resumed run has made its steps again.
        (((1, 10), (1, 17, 7), (2, 20)), [10, 20]),
    ],
)
def test_steps_that_were_made_again_count_once(tmp_path, lines, counted):
    """Whether iterations were lost, or a rollout was not finished."""
    run = RunFolder.create(tmp_path, "a")
    for iterations, steps, *discarded in lines:
        run.append_metrics({"iterations": iterations, "steps": steps, **dict.fromkeys([DISCARDED] * len(discarded), 7)})
    assert [row["steps"] for row in run.metrics()] == counted
    assert run.sample_metrics(100) == run.metrics()


def test_lines_that_are_no_metrics_are_passed_over(tmp_path):
    """What a crash cut short, what an editor left, bytes that are no text: the others are there."""
    run = RunFolder.create(tmp_path, "a")
    run.append_metrics({"iterations": 1, "steps": 5})
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"iterations": 2, "st\n[3]\nnull\n"x"\n\xff\xfe\n{"iterations": "4"}\n')
    run.append_metrics({"iterations": 3, "steps": 15})
    assert [row["steps"] for row in run.metrics()] == [5, 15]


DEEP = "[" * 100_000 + "]" * 100_000
BAD_CARDS = {
    "cut": "{",
    "list": "[1]",
    "null": "null",
    "text": '"completed"',
    "bytes": "\ud800",
    "task": '{"task": 3}',
    "steps": '{"steps": "many"}',
    "config": '{"config": []}',
    "settings": '{"config": {"settings": []}}',
    "infinite time": '{"started": 1e999}',
    "time without a calendar": '{"started": 1e99}',
    "time in words": '{"written": "yesterday"}',
    "400 digits": f'{{"steps": {"9" * 400}}}',
    "9,000 digits": f'{{"steps": {"9" * 9000}}}',
    "negative": '{"steps": -1}',
    "deep": f'{{"config": {DEEP}}}',
    "deep enough": f'{{"config": {"[" * 90 + "]" * 90}}}',
    "large": f'{{"error": "{"x" * 5_000_000}"}}',
}


@pytest.mark.parametrize("name", BAD_CARDS)
def test_metadata_that_is_not_a_json_object_is_a_clear_error(tmp_path, name):
    """A run.json that is broken, or something else, is named."""
    text = BAD_CARDS[name]
    run = RunFolder.create(tmp_path, "a")
    (run.path / "run.json").write_text(text, errors="surrogatepass")
    with pytest.raises(RunFolderError, match=r"run\.json .*: remove the run or restore the file"):
        run.metadata()


def test_changed_metadata_is_an_error(tmp_path):
    """Its checksum shows it; one from before there were checksums is read, and so is one laid out in another way."""
    run = RunFolder.create(tmp_path, "a")
    run.write_metadata({"steps": 3, "state": "completed"})
    metadata = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps(metadata, indent=None, sort_keys=True))
    assert run.metadata() == {"steps": 3, "state": "completed"}
    (run.path / "run.json").write_text(json.dumps({**metadata, "steps": 4}))
    with pytest.raises(RunFolderError, match="does not match its checksum"):
        run.metadata()
    del metadata["sha256"]
    (run.path / "run.json").write_text(json.dumps({**metadata, "steps": 4}))
    assert run.metadata()["steps"] == 4


def test_metadata_is_not_written_through_a_link(tmp_path):
    """A run folder from elsewhere cannot lead to a file outside of it being overwritten; NaN is written as text."""
    run = RunFolder.create(tmp_path / "runs", "a")
    (tmp_path / "precious").write_text("mine")
    (run.path / ".run.json").symlink_to(tmp_path / "precious")
    run.write_metadata({"steps": 3, "return_mean": float("nan")})
    assert (tmp_path / "precious").read_text() == "mine"
    assert run.metadata() == {"steps": 3, "return_mean": "NaN"}


def test_a_run_is_known_before_its_metadata_is_written(tmp_path):
    """A session that is killed at its very beginning leaves a folder that is listed, and says what is missing."""
    RunFolder.create(tmp_path, "a")
    (tmp_path / "other").mkdir()
    (tmp_path / "mine" / "checkpoints").mkdir(parents=True)
    (tmp_path / "mine" / "thesis.tex").touch()
    assert [run.name for run in RunFolder.all(tmp_path)] == ["a"]
    with pytest.raises(RunFolderError, match=r"run\.json is missing.*pac-tui runs rm a"):
        RunFolder.find(tmp_path, "a").metadata()


def test_a_run_that_has_only_begun_can_be_dropped(tmp_path):
    """What it was to begin with is no reason to keep it; the metadata of a run that trained is."""
    begun, trained = RunFolder.create(tmp_path, "begun"), RunFolder.create(tmp_path, "trained")
    begun.write_initial_metadata({"task": "drmario"})
    trained.write_metadata({"state": "running"})
    for run in (begun, trained):
        run.remove_if_empty()
    assert [run.name for run in RunFolder.all(tmp_path)] == ["trained"]


def test_a_claim_is_for_this_user_alone(tmp_path, monkeypatch):
    """Whoever can open a file can lock it; a file of an older version is closed to others, too."""
    older, new = (RunFolder.create(tmp_path, name) for name in ("older", "new"))
    (older.path / ".claim").touch(0o644)
    older.claim()
    monkeypatch.setattr(os, "fchmod", lambda *_: None)  # a new file has this mode from the start
    new.claim()
    for run in (older, new):
        assert (run.path / ".claim").stat().st_mode & 0o777 == 0o600
        run.release()


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()])
def test_a_claim_that_is_no_file_is_an_error(tmp_path, make):
    """Neither is waited for, and nothing is written through it."""
    run = RunFolder.create(tmp_path, "a")
    make(run.path / ".claim")
    with pytest.raises(RunFolderError, match="cannot write into"):
        run.claim()


def test_a_name_holds_task_and_trainer():
    """Punctuation of the task stays out of the folder's name, and so does what makes it too long."""
    assert new_name("CartPole-v1", "ppo").startswith("cartpole-v1-ppo-")
    assert new_name("My Env! " * 20, "ppo").startswith("my-env--my-env--my-env--my-env--my-env-ppo-")


def test_some_metrics_are_spread_over_all_and_have_the_last(tmp_path):
    """A long file is sampled without being read, a short one is read."""
    run = RunFolder.create(tmp_path, "a")
    assert run.sample_metrics(10) == []
    for step in range(3000):
        run.append_metrics({"steps": step, "filling": 10 ** (step % 90)})
    steps = [row["steps"] for row in run.sample_metrics(50)]
    assert 40 <= len(steps) <= 55
    assert steps == sorted(set(steps))
    assert steps[0] == 0
    assert max(np.diff(steps)) < 200
    assert steps[-1] >= 2980


@pytest.mark.session
def test_a_run_of_a_killed_process_can_be_claimed(tmp_path):
    """The claim ends with the process, however it ends; meanwhile another one gets its name."""
    run = RunFolder.create(tmp_path, "mine")
    with talking("-c", CLAIMING, run.path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        with pytest.raises(BadParameter, match=f"process {process.pid}"):
            run.claim()
        process.kill()
    run.claim()
    with pytest.raises(BadParameter, match=f"being trained by process {os.getpid()}"):
        RunFolder(run.path).claim()
    run.release()
