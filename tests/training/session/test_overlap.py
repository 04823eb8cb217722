"""A session that collects while it learns: restart with another N, pause, stop and resume."""

import pytest

from pac.training.config import Config
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
        watched.until(lambda snapshot: snapshot.phase is Phase.PAUSED)
        report = watched.end()
    assert report["metrics"]["policy_lag"] == 1
    done = report["iterations"]
    resumed = launch(
        Config(runs_dir=tmp_path, resume="latest", steps=report["steps"] + 200, num_envs=3, **OPTIONS), headless=True
    ).report()
    assert resumed["iterations"] > done
    assert resumed["discarded_steps"] == 0
    assert resumed["metrics"]["updates"] >= resumed["iterations"] - 1
