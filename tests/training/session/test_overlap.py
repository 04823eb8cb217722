"""A session that collects while it learns: what happens around the hand-over of a rollout."""

import os
import signal

import pytest

from pac.training.config import Config
from pac.training.runs.checkpoint import load_newest
from pac.training.runs.folder import RunFolder
from pac.training.session.host import launch
from pac.training.telemetry.records import Phase

from ..watched import running, session

pytestmark = pytest.mark.session

SETTINGS = {"overlap": True, "batch": 64, "minibatch": 32, "epochs": 1, "hidden": 8, "threads": 1}
OPTIONS = {"task": "treasure", "trainer": "ppo", "backend": "shm", "workers": 2, "settings": SETTINGS}


def test_a_session_restarts_pauses_and_resumes_with_overlap(tmp_path):
    """Its lanes and figures are published, and no step of a complete rollout is lost."""
    with session(tmp_path, **OPTIONS) as watched:
        watched.until(lambda snapshot: running(snapshot) and "overlap/efficiency" in snapshot.metrics)
        assert {"training", "learner"} <= {lane.name for lane in watched.see(timeline=True).lanes}
        watched.call("restart", num_envs=3)
        again = watched.until(lambda snapshot: snapshot.num_envs == 3 and running(snapshot))
        watched.until(lambda snapshot: snapshot.state["iterations"] > again.state["iterations"] + 2)
        watched.call("pause")
        watched.until(paused)
        report = watched.end()
    assert report["metrics"]["policy_lag"] == 1
    done = report["iterations"]
    resumed = launch(
        Config(runs_dir=tmp_path, resume="latest", steps=report["steps"] + 200, num_envs=3, **OPTIONS), headless=True
    ).report()
    assert resumed["iterations"] > done
    assert resumed["discarded_steps"] == 0
    assert resumed["metrics"]["updates"] >= resumed["iterations"] - 1


N, T = 4, 16
STEPPED = {
    "task": "frames",
    "trainer": "ppo",
    "backend": "inline",
    "num_envs": N,
    "settings": {**SETTINGS, "batch": N * T},
}


def paused(snapshot):
    return snapshot.phase is Phase.PAUSED and not snapshot.state["credits"]


@pytest.mark.parametrize(("length", "before", "steps"), [(2 * T, 2, 1), (2 * T - 1, 1, 3)])
def test_steps_across_the_hand_over_wait_for_the_update(tmp_path, length, before, steps):
    """A breakpoint there pauses between two rollouts; exactly as many steps are made, with the update over."""
    with session(tmp_path, **STEPPED, breakpoints=(f"env 1: length == {length}",)) as watched:
        seen = watched.until(lambda snapshot: paused(snapshot) and snapshot.state["iterations"] == before)
        assert (seen.state["steps"], seen.metrics.get("updates", 0)) == (length * N, before - 1)
        watched.call("step", count=steps)
        goal = (length + steps) * N
        seen = watched.until(lambda snapshot: snapshot.state["steps"] == goal and paused(snapshot))
        assert (seen.state["iterations"], seen.metrics["updates"], seen.metrics["policy_lag"]) == (2, 1, 0)


@pytest.mark.parametrize("length", [2 * T, 2 * T + 1, 3 * T - 1])
def test_a_stop_discards_only_the_half_that_is_being_filled(tmp_path, length):
    """Complete rollouts are learned from before the end."""
    with session(tmp_path, **STEPPED, breakpoints=(f"env 1: length == {length}",)) as watched:
        watched.until(paused)
        report = watched.end()
    assert (report["iterations"], report["discarded_steps"]) == (2, (length - 2 * T) * N)
    checkpoint = load_newest(RunFolder.find(tmp_path, "latest").checkpoints)
    assert checkpoint.data["data"]["updates"] == 2


def test_another_number_of_environments_discards_only_the_half_that_is_being_filled(tmp_path):
    """The complete rollout of the old environments is learned from."""
    with session(tmp_path, **STEPPED, breakpoints=(f"env 1: length == {2 * T + 5}",)) as watched:
        watched.until(paused)
        watched.call("restart", num_envs=3)
        watched.until(lambda snapshot: snapshot.num_envs == 3)
        watched.call("unbreak", number=1)
        watched.call("resume")
        seen = watched.until(lambda snapshot: snapshot.state["iterations"] >= 4)
        watched.call("pause")
        seen = watched.until(paused)
        assert seen.metrics["updates"] == seen.state["iterations"] - 1


@pytest.mark.parametrize("length", [2 * T - 1, 2 * T, 2 * T + 1])
def test_a_worker_lost_around_the_hand_over_is_replaced(tmp_path, length):
    """The training continues, and no update is lost."""
    options = {**STEPPED, "backend": "shm", "workers": 2}
    with session(tmp_path, **options, breakpoints=(f"env 1: length == {length}",)) as watched:
        seen = watched.until(lambda snapshot: paused(snapshot) and len(snapshot.processes) == 2)
        os.kill(int(seen.processes["pid"][1]), signal.SIGKILL)
        watched.call("unbreak", number=1)
        watched.call("resume")
        watched.until(lambda snapshot: any("is back" in event.text for event in snapshot.events))
        watched.until(lambda snapshot: snapshot.state["iterations"] > seen.state["iterations"] + 2)
        report = watched.end()
    assert report["worker_restarts"] == 1
    assert report["metrics"]["updates"] >= report["iterations"] - 1
