"""Runs at a glance: their state, how far they came, how their goal went."""

import gc
import os
import weakref

import pytest

from pac.training.runs.folder import RunFolder
from pac.training.runs.overview import overviews


@pytest.fixture
def kept(runtime_directory, tmp_path):
    """Return what keeps a run, the later the younger; no session lives."""
    ages = iter(range(1000, 2000))

    def keep(name, rows=(), **metadata):
        run = RunFolder.create(tmp_path, name)
        run.write_metadata({"task": "drmario", "trainer": "ppo", "state": "completed", **metadata})
        for row in rows:
            run.append_metrics(row)
        os.utime(run.path / "run.json", (age := next(ages), age))
        return run

    return keep


def test_runs_come_newest_first_with_the_state_they_are_in(kept, tmp_path):
    """What says that it runs and does not was killed; what cannot be read says why; what saved can be resumed."""
    (kept("a").checkpoints / "step-000000000001").mkdir()
    kept("b", state="running")
    (kept("c").path / "run.json").write_text("{")
    found = overviews(tmp_path)
    assert {run.name: run.state for run in found} == {"a": "completed", "b": "died", "c": "damaged"}
    assert [run.name for run in found][1:] == ["b", "a"]
    assert "cannot be read" in found[0].error
    assert [run.resumable for run in found[1:]] == [False, True]
    assert not found[0].resumable


def test_the_goal_is_that_of_the_trainer(kept, tmp_path):
    """Of a solver NashConv, the lower the better; before it is known, and for others, what comes next."""
    rows = [{"seconds": k, "frames": 10 * k, "nash_conv": v, "utility": 1.0} for k, v in enumerate((3, 1, 2))]
    kept("solver", rows, task="leduc", trainer="mccfr")
    kept("learner", [{"seconds": 1, "steps": 5, "return_mean": 4.0}, {"seconds": 2, "steps": 9, "return_mean": 3.0}])
    kept("stranger", [{"seconds": 1, "steps": 5, "return_mean": 4.0}], trainer="somebody's")
    found = {run.name: run for run in overviews(tmp_path)}
    assert (found["solver"].goal.name, found["solver"].best) == ("nash_conv", 1.0)
    assert found["solver"].points("frames") == [(0.0, 3.0), (10.0, 1.0), (20.0, 2.0)]
    assert (found["learner"].goal.name, found["learner"].best) == ("return_mean", 4.0)
    assert found["stranger"].best == 4.0


def test_more_metrics_are_seen(kept, tmp_path):
    """What is kept of a file is read again once the file has grown."""
    run = kept("a", [{"seconds": 1, "steps": 5, "return_mean": 4.0}])
    assert len(overviews(tmp_path)[0].rows) == 1
    run.append_metrics({"seconds": 2, "steps": 6, "return_mean": 5.0})
    assert overviews(tmp_path)[0].best == 5.0


def test_only_what_has_changed_is_read(kept, tmp_path, monkeypatch):
    """Metadata once, metrics when they are asked for; and nothing more once nobody waits for it."""
    runs = [kept(name, [{"seconds": 1, "steps": 5, "return_mean": 4.0}]) for name in "abc"]
    read: list[str] = []

    def noted(real):
        def call(run, *more):
            read.append(run.name)
            return real(run, *more)

        return call

    for name in ("metadata", "sample_metrics"):
        monkeypatch.setattr(RunFolder, name, noted(getattr(RunFolder, name)))
    before = overviews(tmp_path)
    assert sorted(read) == ["a", "b", "c"]
    read.clear()
    assert overviews(tmp_path) == before
    assert not read
    runs[1].write_metadata({"task": "drmario", "state": "failed"})
    assert overviews(tmp_path) != before
    assert read == ["b"]
    assert before[0].best == 4.0
    assert read == ["b", before[0].name]
    assert overviews(tmp_path, lambda: True) == []


def test_of_a_run_that_grows_only_the_newest_metrics_are_kept(kept, tmp_path, monkeypatch):
    """A list of runs that is read again and again does not fill the memory."""

    class Row(dict[str, float]):
        """A row whose end can be noticed."""

    run, rows = kept("a"), []

    def sampled(*_):
        row = Row(seconds=1)
        rows.append(weakref.ref(row))
        return [row]

    monkeypatch.setattr(RunFolder, "sample_metrics", sampled)
    for seconds in range(3):
        run.append_metrics({"seconds": seconds, "steps": 5, "return_mean": 4.0})
        assert overviews(tmp_path)[0].rows
    gc.collect()
    assert [row() is None for row in rows] == [True, True, False]
