"""`pac-tui bench ...`: each measurement once, quickly, with the keys that its JSON promises."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pac.tui.cli import main

ROW = {"transport", "num_envs", "workers", "trips", "p50_us", "p95_us", "p99_us", "sps"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in an empty directory."""
    monkeypatch.chdir(tmp_path)


def told(capsys, *arguments: str) -> dict[str, Any]:
    """Return what a benchmark prints as JSON."""
    assert main(["bench", *arguments, "--quick", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["facts"]["versions"]["numpy"]
    return found


@pytest.mark.session
def test_transports(capsys):
    """Every transport that can run the task has a row at each N; one that cannot has a reason."""
    found = told(capsys, "transports")
    for row in found["rows"]:
        assert set(row) == ROW
        assert 0 < row["p50_us"] <= row["p95_us"] <= row["p99_us"]
        assert row["sps"] > 0
    assert {(row["transport"], row["num_envs"]) for row in found["rows"]} >= {("inline", 1), ("shm", 1), ("shm", 32)}
    assert "lock" in found["absent"]["threads"]
    assert [row["num_envs"] for row in found["layouts"]["rows"]] == [1, 8, 32, 64]


@pytest.mark.slow
def test_engine(capsys):
    """Each built-in game has its rate on one core."""
    found = told(capsys, "engine")["engine"]
    assert found["placements_per_second"]["median"] > 0
    assert found["autochess_decisions_per_second"]["median"] > 0
