"""Only runs are removed, only by name, and never through a link."""

import os

import pytest

from pac.envs import UnknownName
from pac.training.runs.folder import RunFolder
from pac.training.runs.removal import NotRemovable, check_removal, remove


@pytest.fixture
def runs(tmp_path):
    """A folder with one run of two checkpoints, beside something precious."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("all of it")
    run = RunFolder.create(tmp_path / "runs", "a")
    run.write_metadata({"task": "drmario", "trainer": "ppo"})
    for step in ("step-000000000001", "step-000000000002"):
        (run.checkpoints / step).mkdir()
    (run.checkpoints / step / "tensors.safetensors").write_bytes(bytes(1000))
    run.append_metrics({"steps": 1})
    yield tmp_path / "runs"
    assert (tmp_path / "precious" / "thesis.tex").read_text() == "all of it"


def test_a_run_is_removed_with_all_it_has(runs):
    """With states that viewers saved. What would go is counted before; other runs stay."""
    RunFolder.create(runs, "b")
    states = RunFolder(runs / "a").states
    states.mkdir()
    (states / "env3-step99-1.snapshot").touch()
    found = check_removal(runs, "a")
    assert found.checkpoints == 2
    assert 1000 < found.size < 2000
    remove(found.run)
    assert [path.name for path in runs.iterdir()] == ["b"]


@pytest.mark.parametrize("name", ["", ".", "..", "../precious", "a/checkpoints", "./a", "a/", "{runs}/a", "../runs/a"])
def test_a_path_is_refused(runs, name):
    """Even one that leads to a run: what is removed is directly below the folder of runs."""
    with pytest.raises(NotRemovable, match="not the name of a run"):
        check_removal(runs, name.format(runs=runs))


def test_an_unknown_run_and_a_link_are_refused(runs):
    """The known ones are listed; the newest must be named, too. What a link leads to is somewhere else."""
    for name in ("b", "latest"):
        with pytest.raises(UnknownName, match="Known: a"):
            check_removal(runs, name)
    (runs / "b").symlink_to(runs / "a")
    with pytest.raises(NotRemovable, match="is a link"):
        check_removal(runs, "b")


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("notes.txt", "notes.txt"),
        ("checkpoints/best/model.pt", "checkpoints/best"),
        ("src/main.py", "src"),
        ("run.json/x", "run.json"),
    ],
)
def test_what_is_not_a_runs_is_not_removed(runs, path, named):
    """A file of the user's among those of a run is named."""
    place = runs / "b" / path
    place.parent.mkdir(parents=True)
    place.touch()
    if named != "run.json":
        (runs / "b" / "run.json").write_text("{}")
    with pytest.raises(NotRemovable, match=f"{named} in it is not part of a run"):
        check_removal(runs, "b")


def test_a_run_json_alone_makes_no_run(runs):
    """Other programs have files of that name."""
    (runs / "b").mkdir()
    (runs / "b" / "run.json").write_text("{}")
    with pytest.raises(NotRemovable, match="neither checkpoints nor"):
        check_removal(runs, "b")


def test_a_link_within_a_run_goes_alone(runs):
    """What it leads to stays."""
    run = RunFolder(runs / "a")
    (run.path / "episodes").symlink_to(runs.parent / "precious")
    (run.path / "session.log").symlink_to(runs.parent / "precious" / "thesis.tex")
    remove(check_removal(runs, "a").run)
    assert not run.path.exists()


@pytest.mark.parametrize("harm", ["damaged", "missing", "fifo"])
def test_a_damaged_run_can_be_removed(runs, harm):
    """One whose metadata cannot be read, or was never written."""
    metadata = runs / "a" / "run.json"
    metadata.unlink()
    if harm == "damaged":
        metadata.write_text("{")
    elif harm == "fifo":
        os.mkfifo(metadata)
    remove(check_removal(runs, "a").run)
    assert not list(runs.iterdir())
