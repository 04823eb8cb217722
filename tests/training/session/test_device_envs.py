"""Where environments are, by trainer."""

from __future__ import annotations

from pathlib import Path

import pytest

from pac.training.config import Config
from pac.training.session.session import Session

pytestmark = pytest.mark.session


@pytest.mark.parametrize(("trainer", "warnings"), [("random", 1), ("ppo", 0)])
def test_a_trainer_that_keeps_environments_on_the_host_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trainer: str, warnings: int
) -> None:
    """With the backend device, a warning says that only PPO has them on the device."""
    monkeypatch.setenv("PAC_DEVICE_MEMORY", "apart")
    settings = {"batch": 64, "minibatch": 64, "epochs": 1, "threads": 1} if trainer == "ppo" else {}
    options = {"trainer": trainer, "settings": settings, "backend": "device", "device": "cpu", "runs_dir": tmp_path}
    report = Session(Config(task="drmario", num_envs=4, steps=64, **options), tmp_path, headless=True).run()
    found = [text for text in report["events"] if text.startswith(f"{trainer} keeps its environments in host memory")]
    assert len(found) == warnings
