"""What a session reports at its end: one definition of each rate, counts, and workers."""

import os
import signal

import pytest

from pac.training.runs.folder import RunFolder
from pac.training.runs.metrics import DISCARDED
from pac.training.telemetry.throughput import WINDOW

from ..sleeper import LENGTH, SLEEPER
from ..watched import run_here, running, session

pytestmark = pytest.mark.session

PPO = {"batch": 256, "minibatch": 64, "epochs": 1, "threads": 1}
SHORT = {"task": "CartPole-v1", "trainer": "random", "backend": "inline", "num_envs": 4}


def test_all_rates_of_a_report_are_of_the_same_time(tmp_path):
    """Also after a baseline: the phases sum to the time of a step, and the curves end with the same rates.

    The baseline does not use up the seconds.
    """
    report, _ = run_here(tmp_path, name="run", seconds=0.5, baseline=True, **SHORT)
    assert report["fps"] == report["sps"] == pytest.approx(4 * report["fps_per_env"])  # one frame per step
    assert sum(report["time_ms"].values()) == pytest.approx(1000 / report["sps"], rel=0.02)
    trained = report["seconds"] - report["sweep_seconds"]
    assert 0 < report["measured_seconds"] < trained
    assert (report["sweep_seconds"] >= WINDOW, trained >= 0.5, report["num_envs"]) == (True, True, 4)
    last = RunFolder.find(tmp_path, "run").metrics()[-1]
    assert (last["fps"], last["sps"]) == (report["metrics"]["fps"], report["metrics"]["sps"])
    assert (last["fps"], last["sps"]) == (report["fps"], report["sps"])


def test_the_rates_of_a_first_iteration_are_unknown(tmp_path):
    """Null in the file, not zero, also after a restart."""
    with session(tmp_path, name="run") as watched:
        watched.until(lambda snapshot: snapshot.state["iterations"] >= 3)
        watched.call("restart", num_envs=2)
        seen = watched.until(lambda snapshot: snapshot.num_envs == 2 and running(snapshot))
        done = seen.state["iterations"] + 2
        watched.until(lambda snapshot: snapshot.state["iterations"] > done)
        watched.end()
    rates = [row.get("sps") for row in RunFolder.find(tmp_path, "run").metrics()]
    assert rates[0] is None
    assert rates.count(None) == 2
    assert all(rate > 0 for rate in rates if rate is not None)


def test_seconds_end_a_session_within_a_rollout(tmp_path):
    """One step after the limit at the latest, although the rollout would take 13 s; what was done is kept."""
    options = {**SHORT, "task": SLEEPER, "trainer": "ppo", "device": "cpu", "settings": PPO}
    report, _ = run_here(tmp_path, name="run", seconds=1.0, **options)
    assert report["iterations"] == 0
    assert 0 < report["steps"] <= 4 * (1 + 1.0 / (4 * 0.05))
    assert report["discarded_steps"] == report["steps"]
    assert report["episodes"] == 4 * (report["steps"] // 4 // LENGTH)
    assert report["return_mean"] == LENGTH
    run = RunFolder.find(tmp_path, "run")
    assert run.metadata()["state"] == "completed"
    assert all(run.metadata()[name] == report[name] for name in ("steps", "episodes", "return_mean"))
    (row,) = run.metrics()
    assert (row["steps"], row["episodes"], row[DISCARDED]) == (report["steps"], report["episodes"], report["steps"])
    assert run.saved


def test_a_session_stopped_before_its_first_step_leaves_no_run(tmp_path):
    """It would contain neither steps nor a policy that learned."""
    with session(tmp_path, task=f"{SLEEPER}:rest=0.5", name="run") as watched:
        report = watched.end()
    assert (report["steps"], report["run"]) == (0, None)
    assert not (tmp_path / "run").exists()


def test_a_worker_that_failed_and_was_replaced_is_reported(tmp_path):
    """The count, the failure and the return; restarts with another N are counted separately."""
    with session(tmp_path, task="drmario", backend="shm") as watched:
        seen = watched.until(lambda snapshot: running(snapshot) and len(snapshot.processes))
        os.kill(int(seen.processes["pid"][0]), signal.SIGKILL)
        watched.until(lambda snapshot: any(event.text.endswith("is back") for event in snapshot.events))
        report = watched.end()
    assert (report["worker_restarts"], report["restarts"]) == (1, 0)
    assert ["SIGKILL" in text for text in report["events"]] == [True, False]
    assert report["events"][1].startswith("worker 1 (environments")
    assert report["events"][1].endswith("is back")
