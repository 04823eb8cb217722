"""Where environments are, by trainer."""

from __future__ import annotations

from pathlib import Path

import pytest

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
