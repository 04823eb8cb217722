"""A run that was interrupted and resumed equals one that was not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pac.training.config import Config
from pac.training.runs.checkpoint import Checkpoint, load_newest
from pac.training.runs.folder import RunFolder
from pac.training.session.host import launch

from ...waiting import until
from ..wanderer import WANDERER

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


@pytest.mark.parametrize(
    ("how", "task", "backend"),
    [
        pytest.param("a limit", "drmario", "inline", marks=pytest.mark.slow),
        ("a signal", "drmario", "inline"),
        ("a signal", "leduc", "inline"),
        ("a limit", f"{WANDERER}:wind=3", "shm"),
    ],
)
def test_resumed_equals_uninterrupted(tmp_path, how, task, backend):
    """Weights, moments, tables, random generators, counters and the environments' states: every bit is the same."""
    what = {"task": task, "backend": backend}
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
    assert resumed.data["counters"] == whole.data["counters"]
    assert resumed.tensors.keys() == whole.tensors.keys()
    for name, tensor in whole.tensors.items():
        assert np.array_equal(resumed.tensors[name], tensor), name


def test_another_number_of_environments_begins_episodes_anew(tmp_path):
    """What was learned goes on; the states of four environments are nothing for six, and that is said."""
    trained(configured(tmp_path, name="four", steps=512))
    session = launch(configured(tmp_path, resume="latest", num_envs=6, steps=1024), headless=True)
    report = session.report()
    assert report["num_envs"] == 6
    assert report["steps"] >= 1024
