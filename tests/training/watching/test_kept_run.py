"""A watched script leaves a run: its curves, episodes, circumstances, output and last state."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pac.training import watch
from pac.training.runs.folder import LAST, LOG, WATCHED, RunFolder, watched_runs
from pac.training.runs.overview import overviews
from pac.training.runs.sessions import find_session
from pac.training.telemetry.records import Phase
from pac.training.watching import kept_run
from pac.training.watching.kept_run import KeptRun, make_room
from pac.training.watching.script import log

from .scripted import cartpoles, session_of

COUNTS = {"steps": 5, "frames": 5, "episodes": 1}


@pytest.fixture(autouse=True)
def watched(tmp_path, monkeypatch):
    """A folder for the runs of watched scripts."""
    folder = tmp_path / "state" / "watched"
    monkeypatch.setenv(WATCHED, str(folder))
    return folder


def train(steps=20, **metrics):
    """Step some environments, and log; return their session."""
    envs = watch(cartpoles())
    envs.reset(seed=1)
    for _ in range(steps):
        envs.step(np.zeros(3, int))
        log(metrics)
    return session_of(envs)


def only(folder):
    """The only run in a folder."""
    (run,) = RunFolder.all(folder)
    return run


@pytest.mark.session
def test_a_script_leaves_its_counts_curves_and_circumstances(watched):
    """As a training does."""
    session = train(loss=0.5)
    session.close()
    run, steps = only(watched), session.counter.counts.steps
    facts, rows = run.metadata(), run.metrics()
    assert (facts["state"], facts["trainer"], facts["steps"], facts["num_envs"]) == ("completed", "script", steps, 3)
    assert rows[-1]["loss"] == pytest.approx(0.5)
    assert facts["config"]["cwd"] == str(Path.cwd())
    assert facts["config"]["numpy"] == np.__version__
    assert facts["config"]["arguments"]


@pytest.mark.session
@pytest.mark.parametrize(
    ("error", "interrupted", "state"),
    [(ValueError("no"), False, "failed"), (None, True, "interrupted"), (None, False, "completed")],
)
def test_a_run_says_how_its_script_ended(watched, error, interrupted, state):
    """By an exception, by Ctrl-C, or by itself."""
    train().close(error, interrupted=interrupted)
    facts = only(watched).metadata()
    assert facts["state"] == state
    assert facts.get("error") == (None if error is None else "ValueError: no")


@pytest.mark.session
def test_the_last_state_is_found_by_the_run(watched, tmp_path):
    """By its name, wherever runs are."""
    session = train()
    session.close()
    found = find_session(only(watched).name, tmp_path / "runs")
    assert found.snapshot.phase is Phase.ENDED
    assert int(found.snapshot.state["steps"]) == session.counter.counts.steps > 50


@pytest.mark.session
def test_a_script_is_the_name_of_its_newest_run(watched, tmp_path):
    """As `attach` knows it while it runs."""
    session = train()
    session.close()
    assert RunFolder.find(tmp_path / "none", session.name).path == only(watched).path


@pytest.mark.session
def test_runs_are_listed_where_their_scripts_were_started(watched, tmp_path, monkeypatch):
    """Beside the others there, and nowhere else."""
    train().close()
    (run,) = overviews(tmp_path / "runs")
    assert (run.name, run.state, run.viewable, run.resumable) == (only(watched).name, "completed", True, False)
    (again,) = overviews(watched)
    assert again == run
    monkeypatch.chdir(tmp_path)
    assert not overviews(tmp_path / "runs")


@pytest.mark.session
def test_a_running_script_is_listed_once(watched, tmp_path):
    """As live, although its metadata are older."""
    session = train()
    session._run.write()
    (run,) = [run for run in overviews(tmp_path / "runs") if run.pid == os.getpid()]
    assert (run.state, run.folder) == ("live", only(watched).path)
    session.close()


@pytest.mark.session
def test_a_folder_that_cannot_be_made_is_named(watched, tmp_path):
    """The script goes on."""
    watched.parent.mkdir()
    watched.write_text("a file")
    session = train()
    found = find_session(session.name, tmp_path)
    assert f"{watched} cannot be written to" in "".join(event.text for event in found.snapshot.events)
    session.close()


@pytest.mark.parametrize(("value", "expected"), [("", None), ("/kept", "/kept")])
def test_the_variable_names_the_folder(monkeypatch, value, expected):
    """Empty, it says that no runs are kept."""
    monkeypatch.setenv(WATCHED, value)
    found = watched_runs()
    assert (found and str(found)) == expected


def test_the_folder_is_in_that_of_states(monkeypatch, tmp_path):
    """As the XDG specification has it; a relative path there is ignored."""
    monkeypatch.delenv(WATCHED)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert watched_runs() == tmp_path / ".local/state/pac-tui/watched"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    assert watched_runs() == tmp_path / "states/pac-tui/watched"


def test_the_lines_of_a_long_training_are_rare_and_keep_rare_figures(watched):
    """A figure that is logged between two lines is in the next one."""
    run = KeptRun("train", "Toy", keep=True)
    for second in range(20_000):
        run.add({"loss": second} | ({"evaluation": 7.0} if second == 9_001 else {}), COUNTS, second, 2, ())
    run.write()
    rows = only(watched).metrics()
    assert 2_000 < len(rows) < 8_000
    assert [row["evaluation"] for row in rows if "evaluation" in row] == [7.0]
    run.forget()


def test_the_end_of_the_output_is_kept(watched, tmp_path, monkeypatch, segment):
    """Of much output, the end."""
    monkeypatch.setattr(kept_run, "MOST_OUTPUT", 4)
    (tmp_path / "output").write_text("0123456789")
    KeptRun("train", "Toy", keep=True).close("completed", "", segment, str(tmp_path / "output"))
    run = only(watched)
    assert (run.path / LOG).read_text() == "6789"
    assert (run.path / LAST / segment.path.name).read_bytes() == bytes(segment.map)


@pytest.fixture
def segment(tmp_path):
    """Some telemetry."""
    from pac.backends.system.segment import Segment

    found = Segment.create("telemetry.1", 4096, directory=tmp_path)
    yield found
    found.map.close()


def test_old_runs_make_room(watched, monkeypatch):
    """The oldest go first, but none that is running."""
    monkeypatch.setattr(kept_run, "MOST_RUNS", 2)
    runs = [KeptRun(f"train{index}", "Toy", keep=True) for index in range(4)]
    for index, run in enumerate(runs):
        assert run.folder is not None
        os.utime(run.folder.path / "run.json", (index, index))
        if index != 1:
            run.folder.release()
    assert runs[3].folder is not None
    make_room(runs[3].folder)
    assert [run.name.partition("-")[0] for run in RunFolder.all(watched)] == ["train1", "train2", "train3"]


def test_what_was_logged_since_the_last_line_is_kept_at_the_end(watched, segment):
    """Also if all lines before were written already."""
    run = KeptRun("train", "Toy", keep=True)
    run.add({"loss": 1.0}, COUNTS, 10_000, 2, ())
    run.write()
    run.add({"evaluation": 7.0}, COUNTS | {"steps": 9}, 10_001, 2, ())
    run.close("completed", "", segment, None)
    assert only(watched).metrics()[-1]["evaluation"] == 7
    assert only(watched).metadata()["steps"] == 9


def test_short_scripts_make_room_too(watched, monkeypatch, segment):
    """They end before their metadata are due."""
    monkeypatch.setattr(kept_run, "MOST_RUNS", 2)
    for index in range(4):
        KeptRun(f"train{index}", "Toy", keep=True).close("completed", "", segment, None)
    assert len(RunFolder.all(watched)) <= 3


def git(*arguments, cwd):
    """Run git; return what it prints."""
    quiet = ("-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *quiet, *arguments], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("way", ["branch", "packed", "detached", "worktree", "none"])
def test_the_commit_is_that_of_the_scripts_repository(tmp_path, way):
    """However git keeps it."""
    folder = tmp_path / "project"
    folder.mkdir()
    expected = ""
    if way != "none":
        git("init", cwd=folder)
        git("commit", "--allow-empty", "-m", "begin", cwd=folder)
        expected = git("rev-parse", "HEAD", cwd=folder)
    if way == "packed":
        git("pack-refs", "--all", cwd=folder)
    elif way == "detached":
        git("checkout", "--detach", cwd=folder)
    elif way == "worktree":
        git("worktree", "add", str(tmp_path / "other"), cwd=folder)
        folder = tmp_path / "other"
    (folder / "inner").mkdir()
    assert kept_run._commit(folder / "inner") == expected
