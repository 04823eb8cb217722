"""The queue of a grid, with real sessions: all are trained, what was trained stays, and what was stopped goes on."""

import time

import pytest

from pac.envs import BadParameter
from pac.envs.trust import accept
from pac.training.grid import queue as queue_module
from pac.training.grid.plan import planned
from pac.training.grid.queue import GridQueue
from pac.training.runs.folder import RunFolder
from pac.training.session.host import launch

from ...waiting import until

pytestmark = pytest.mark.session

QUICK = {"task": "CartPole-v1", "trainer": "random", "backend": "inline", "num_envs": 2, "name": "g"}


@pytest.fixture
def grid(tmp_path):
    """Makes a queue; its sessions end with the test."""
    queues = []

    def make(seeds=(0, 1, 2), parallel=None, **given):
        found = planned({**QUICK, "runs_dir": tmp_path, **given}, seeds, file=None, vouch=accept)
        queues.append(GridQueue(found.members, parallel))
        return queues[-1]

    yield make
    for queue in queues:
        queue.stop()
        queue.stop()


def trained(queue):
    """Train to the end; return the states."""
    queue.start()
    until(lambda: queue.wait(0.1))
    return [run.state for run in queue.runs]


def test_runs_of_a_grid_equal_runs_alone(grid, tmp_path):
    """Whatever is trained beside them."""
    queue = grid(steps=2000)
    assert trained(queue) == ["completed"] * 3
    alone = queue.runs[2].member.config.model_copy(update={"runs_dir": tmp_path / "alone"})
    report = launch(alone, headless=True).report()
    (last,) = RunFolder(queue.runs[2].folder).metrics()[-1:]
    assert (last["steps"], last["episodes"], last["return_mean"]) == (
        report["steps"],
        report["episodes"],
        report["return_mean"],
    )


def test_a_stopped_grid_continues(grid):
    """Runs that were completed stay as they are, and the others go on to their ends."""
    first = grid(seconds=1.0, parallel=1)
    first.start()
    until(lambda: (found := first.runs[1].overview()) is not None and found.rows)
    first.stop()
    until(lambda: first.wait(0.1))
    assert [run.state for run in first.runs] == ["completed", "interrupted", "waiting"]
    before = (first.runs[0].folder / "run.json").read_bytes()
    steps = first.runs[1].overview().metadata["steps"]
    assert trained(grid(seconds=1e-3, seeds=(1,))) == ["completed"]  # it has trained for longer already
    assert first.runs[1].overview().metadata["steps"] == steps
    again = grid(seconds=1.0, parallel=3)
    assert trained(again) == ["completed"] * 3
    assert (again.runs[0].folder / "run.json").read_bytes() == before
    assert again.runs[1].overview().metadata["steps"] > steps


def test_runs_that_fulfilled_the_condition_stay(grid):
    """Only another condition trains them on."""

    def steps(until):
        queue = grid(until=until, seeds=(0, 1))
        assert trained(queue) == ["completed"] * 2
        return [run.overview().metadata["steps"] for run in queue.runs]

    first = steps("steps >= 200")
    assert steps("steps >= 200") == first
    assert min(steps("steps >= 2000")) >= 2000


def test_a_run_that_fails_leaves_the_others_alone(grid, tmp_path):
    """Its error is kept: here another process trains it."""
    queue = grid(steps=500)
    RunFolder.create(tmp_path, "g-s1").claim()
    assert trained(queue) == ["completed", "failed", "completed"]
    assert "g-s1" in queue.runs[1].error


def test_runs_with_other_settings_are_not_continued(grid):
    """Nothing of the grid begins."""
    trained(grid(steps=200, seeds=(0,)))
    with pytest.raises(BadParameter, match="trainer ppo instead of random"):
        grid(steps=200, seeds=(0,), trainer="ppo")


def test_what_is_no_run_stays(grid, tmp_path):
    """Nothing of the grid begins."""
    (tmp_path / "g-s1").write_text("mine")
    with pytest.raises(BadParameter, match="is not a run"):
        grid(steps=200)


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_again(grid, tmp_path):
    """It has nothing to go on from."""
    RunFolder.create(tmp_path, "g-s1")
    assert trained(grid(steps=500)) == ["completed"] * 3


def test_the_second_stop_ends_runs_at_once(grid):
    """Without saving."""
    queue = grid(seconds=600.0, parallel=3)
    queue.start()
    until(lambda: all(run.state == "live" for run in queue.runs))
    queue.stop()
    queue.stop()
    begun = time.monotonic()
    until(lambda: queue.wait(0.1))
    assert {run.state for run in queue.runs} == {"interrupted"}
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(("trainer", "at_once"), [("ppo", 1), ("random", 3)])
def test_runs_that_compute_on_a_gpu_are_trained_one_after_the_other(grid, monkeypatch, trainer, at_once):
    """Also one that is chosen because it is there; what computes nothing has a core each."""
    monkeypatch.setattr(queue_module, "resolve_device", lambda _name: "cuda:0")
    monkeypatch.setattr(queue_module, "usable_cores", lambda: 3)
    assert grid(steps=100, trainer=trainer).parallel == at_once
