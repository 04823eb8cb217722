"""Where environments are, by trainer."""

from __future__ import annotations

from pathlib import Path

import pytest

from pac.training.loading import effective_settings, load
from pac.training.runs.folder import RunFolder
from pac.training.runs.identity import changed_settings

from ..watched import run_here

pytestmark = pytest.mark.session


@pytest.mark.parametrize(("trainer", "warnings"), [("random", 1), ("ppo", 0)])
def test_a_trainer_that_keeps_environments_on_the_host_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trainer: str, warnings: int
) -> None:
    """With the backend device, a warning says that only PPO has them on the device."""
    monkeypatch.setenv("PAC_DEVICE_MEMORY", "apart")
    settings = {"batch": 64, "minibatch": 64, "epochs": 1, "threads": 1, "channels": 8} if trainer == "ppo" else {}
    options = {"task": "drmario", "settings": settings, "backend": "device", "device": "cpu"}
    report, _ = run_here(tmp_path, trainer=trainer, num_envs=4, steps=64, **options)
    found = [text for text in report["events"] if text.startswith(f"{trainer} keeps its environments in host memory")]
    assert len(found) == warnings


def test_settings_that_follow_from_the_device_are_kept_in_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run names them, a resumed one keeps them, and `pac-tui config` says where they are from."""
    found = {"batch": 128, "minibatch": 32, "precision": "bfloat16"}
    monkeypatch.setattr("pac.training.ppo.device_defaults.device_defaults", lambda *_: found)
    settings = {"epochs": 1, "threads": 1, "channels": 8}
    report, _ = run_here(tmp_path, task="drmario", settings=settings, num_envs=4, steps=128, backend="inline")
    run = RunFolder.find(tmp_path, report["run"])
    metadata = run.metadata()
    assert metadata["config"]["settings"].items() >= (found | settings).items()
    assert metadata["settings_of_device"] == [*found]
    monkeypatch.setattr("pac.training.ppo.device_defaults.device_defaults", lambda *_: {})
    loaded = load({"resume": run.name}, environ={}, runs_dir=tmp_path)
    assert loaded.origins["ppo.batch"].label == f"run {run.name}, from its device"
    assert loaded.origins["ppo.epochs"].label == f"run {run.name}"
    assert changed_settings(run, effective_settings(loaded.config)) == []
    assert changed_settings(run, settings | {"batch": 1}, planned=True) == []
