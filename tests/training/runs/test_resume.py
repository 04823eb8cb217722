"""A run that was interrupted and resumed equals one that was not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pac.training.config import Config
from pac.training.runs.checkpoint import Checkpoint, load_newest, save
from pac.training.runs.folder import RunFolder
from pac.training.runs.metrics import DISCARDED
from pac.training.session.checkpoint_manager import STATES
from pac.training.session.host import launch
from pac.training.session.session import Session
from pac.training.telemetry.records import Phase

from ...waiting import until
from ..wanderer import WANDERER
from ..watched import session

pytestmark = pytest.mark.session
STEPS = 1536
PPO = {"batch": 256, "minibatch": 64, "epochs": 1, "threads": 1}
MCCFR = {"batch": 100, "weighting": "discounted", "discount_interval": 3000}


def configured(runs_dir, **changes: Any) -> Config:
    solving = changes.get("task") == "leduc"
    common = {"task": "drmario", "num_envs": 4, "backend": "inline", "device": "cpu"}
    common |= {"trainer": "mccfr", "settings": MCCFR} if solving else {"settings": PPO}
    return Config.model_validate({**common, "runs_dir": runs_dir, "steps": STEPS, **changes})


def trained(config: Config, *, stop_after: int | None = None) -> Checkpoint:
    """Run to the limit, or ask it to stop after that many iterations; return the last checkpoint."""
    session = launch(config, headless=True)
    try:
        if stop_after is not None:
            until(lambda: lines(config) >= stop_after)
            session.terminate()
        session.report()
    finally:
        if session.poll() is None:
            session.kill()
    return load_newest(RunFolder.find(config.runs_dir, str(config.resume or config.name)).checkpoints)


def lines(config: Config) -> int:
    metrics = config.runs_dir / str(config.name) / "metrics.jsonl"
    return len(metrics.read_text().splitlines()) if metrics.exists() else 0


def counted(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what was counted, of the last episodes return and length: scalars may tell of the machine's speed."""
    counters = checkpoint.data["counters"]
    return {**counters, "recent": [row[:2] for row in counters["recent"]]}


@pytest.mark.parametrize(
    ("how", "task", "options"),
    [
        pytest.param("a limit", "drmario", {}, marks=pytest.mark.slow),
        ("a signal", "drmario", {"backend": "device"}),
        ("a signal", "drmario", {"backend": "apart"}),
        ("a signal", "drmario", {"backend": "apart", "settings": PPO | {"cuda_graph": True}}),
        pytest.param("a signal", "drmario", {"backend": "device", "device": "cuda"}, marks=pytest.mark.gpu),
        ("a signal", "drmario", {"settings": PPO | {"overlap": True}}),
        ("a signal", "leduc", {}),
        ("a limit", f"{WANDERER}:wind=3", {"backend": "shm"}),
    ],
)
def test_resumed_equals_uninterrupted(tmp_path, monkeypatch, how, task, options):
    """Weights, moments, tables, random generators, counters and the environments' states: every bit is the same."""
    what = {"task": task, **options}
    if options.get("backend") == "apart":  # memory that the host reads and writes as that of a GPU
        monkeypatch.setenv("PAC_DEVICE_MEMORY", "apart")
        what["backend"] = "device"
    whole = trained(configured(tmp_path, name="whole", **what))
    if how == "a limit":
        half = trained(configured(tmp_path, name="half", steps=STEPS // 2, **what))
    else:
        half = trained(configured(tmp_path, name="half", steps=None, **what), stop_after=2)
    assert 0 < half.step < STEPS or how == "a signal"
    goal = max(STEPS, half.step + 256)
    if goal != STEPS:
        whole = trained(configured(tmp_path, name="longer", steps=goal, **what))
    resumed = trained(configured(tmp_path, resume="half", steps=goal, **what))
    assert resumed.step == whole.step > half.step
    assert counted(resumed) == counted(whole)
    assert resumed.tensors.keys() == whole.tensors.keys()
    for name, tensor in whole.tensors.items():
        assert np.array_equal(resumed.tensors[name], tensor), name


def test_resumed_from_within_the_first_rollout_equals_uninterrupted(tmp_path):
    """What was made of a rollout that did not end is discarded, and made again as it was."""
    whole = trained(configured(tmp_path, name="whole"))
    options = configured(tmp_path, name="half", steps=None, breakpoints=("any: length == 9",)).model_dump()
    del options["runs_dir"]
    with session(tmp_path, **options) as watched:
        watched.until(lambda snapshot: snapshot.phase is Phase.PAUSED)
        report = watched.end()
    assert (report["iterations"], report["steps"], report["discarded_steps"]) == (0, 36, 36)
    resumed = trained(configured(tmp_path, resume="half"))
    assert counted(resumed) == counted(whole)
    for name, tensor in whole.tensors.items():
        assert np.array_equal(resumed.tensors[name], tensor), name
    steps = [row["steps"] for row in RunFolder.find(tmp_path, "half").metrics()]
    assert steps == [row["steps"] for row in RunFolder.find(tmp_path, "whole").metrics()]


def test_a_resumed_session_shows_the_whole_run(tmp_path):
    """Its curve begins with the run's first iteration, ends by reason add up with the episodes, time goes on."""
    options = {"task": "drmario", "backend": "inline", "num_envs": 4}
    with session(tmp_path, name="run", **options) as watched:
        watched.until(lambda snapshot: snapshot.state["iterations"] >= 5 and snapshot.state["episodes"] > 0)
        first = watched.end()
    run = RunFolder.find(tmp_path, "run")
    before = [row for row in run.metrics() if DISCARDED not in row]
    with session(tmp_path, resume="run", **options) as watched:
        watched.until(lambda snapshot: snapshot.state["iterations"] > 2 + first["iterations"])
        watched.call("pause")

        def whole(_):
            seen = watched.see(curves=("fps",))
            steps = [row["steps"] for row in run.metrics() if "fps" in row]
            return seen.curves["fps"].steps.tolist() == steps and sum(seen.outcomes) == seen.state["episodes"]

        seen = watched.until(whole)
        rows = run.metrics()
        assert rows[: len(before)] == before
        assert len(rows) > len(before)
        assert seen.state["training_seconds"] > before[-1]["seconds"]
        second = watched.end()
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    assert sum(second["outcomes"].values()) == second["episodes"] >= before[-1]["episodes"]


def here(folder, config: Config) -> dict[str, Any]:
    """Run a session in this process; return its report."""
    folder.mkdir()
    return Session(config, folder, headless=True).run()


def test_another_number_of_environments_begins_episodes_anew(tmp_path):
    """What was learned goes on; the states of four environments are nothing for six, and that is said."""
    here(tmp_path / "1", configured(tmp_path, name="four", steps=512))
    report = here(tmp_path / "2", configured(tmp_path, resume="latest", num_envs=6, steps=1024))
    assert report["num_envs"] == 6
    assert report["steps"] >= 1024


def test_an_impossible_state_costs_the_episodes_only(tmp_path):
    """A file that was changed leads no kernel astray: what was learned goes on, and why episodes do not is said."""
    here(tmp_path / "1", configured(tmp_path, name="run", steps=256))
    saved = load_newest(RunFolder.find(tmp_path, "run").checkpoints)
    states = np.full_like(saved.tensors[STATES], 77)
    save(saved.path.parent, saved.step, {**saved.tensors, STATES: states}, saved.data)
    report = here(tmp_path / "2", configured(tmp_path, resume="run", steps=512))
    assert report["steps"] >= 512
    assert any("episodes restart: drmario cannot be in the state" in text for text in report["events"])
