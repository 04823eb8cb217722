"""The curves of a run on disk."""

import json

import numpy as np
import pytest

from pac.training.runs.folder import RunFolder
from pac.training.runs.metadata import RunFolderError
from pac.training.runs.metrics import read_curves
from pac.training.telemetry.segment_layout import MAX_HISTORY


@pytest.fixture
def run(tmp_path):
    """A run without metrics."""
    return RunFolder.create(tmp_path, "run")


def test_curves_have_the_points_of_their_metric(run):
    """Lines without a value of it, or with one that is too large for four bytes, have none. NaN is a value.

    Counters are no curves.
    """
    run.append_metrics({"steps": 1, "learner1/loss": 1e60})
    for k in range(4):
        loss = {"learner1/loss": k / 2 if k else float("nan")} if k < 3 else {}
        run.append_metrics({"steps": 10 * k, "frames": 40 * k, "seconds": k, "episodes": k, "iterations": k, **loss})
    curves = read_curves(run.path)
    assert curves.keys() == {"learner1/loss"}
    found = curves["learner1/loss"]
    assert (found.learner, found.steps.tolist(), found.frames.tolist()) == (1, [0, 10, 20], [0, 40, 80])
    assert (found.seconds.tolist(), found.values.tolist()[1:]) == ([0, 1, 2], [0.5, 1])
    assert np.isnan(found.values[0])


@pytest.mark.thorough
def test_a_long_file_is_thinned(run):
    """To about as many points as a session has, the last one too."""
    rows = (
        {"steps": k, "frames": k, "seconds": k, "iterations": k, "loss": k, "padding": 1 / 3} for k in range(10_000)
    )
    (run.path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    steps = read_curves(run.path)["loss"].steps
    assert MAX_HISTORY / 2 < len(steps) <= MAX_HISTORY + 2
    assert steps[-1] == 9999
    assert (np.diff(steps) > 0).all()


def test_a_run_without_metrics_has_no_curves(run):
    """A folder in place of the file is an error."""
    assert read_curves(run.path) == {}
    (run.path / "metrics.jsonl").mkdir()
    with pytest.raises(RunFolderError, match="directory"):
        read_curves(run.path)
