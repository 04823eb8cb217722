"""`pac-tui bench ...`: each benchmark runs once and its JSON has the documented keys."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from pac.tui.cli.commands import main

from ...titles import runs
from ...waiting import until

TESTS = Path(__file__).parents[2]
ROW = {"transport", "num_envs", "workers", "trips", "p50_us", "p95_us", "p99_us", "sps"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in an empty directory."""
    monkeypatch.chdir(tmp_path)


def json_of(capsys, *arguments: str) -> dict[str, Any]:
    """Return what a benchmark prints as JSON."""
    assert main(["bench", *arguments, "--quick", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["benchmark"] == arguments[0]
    assert found["facts"]["versions"]["numpy"]
    return found


@pytest.mark.session
def test_sigterm_ends_what_a_benchmark_has_started():
    """A session runs in a process group of its own, and would go on."""
    options = ("scaling", "--task", "CartPole-v1", "--trainer", "random", "--num-envs", "1", "--seconds", "300")
    command = subprocess.Popen([sys.executable, "-m", "pac.tui", "bench", *options], stderr=subprocess.DEVNULL)
    children: list[psutil.Process] = []

    def trains() -> bool:
        children[:] = psutil.Process(command.pid).children(recursive=True)
        return any(runs(child, "pac.training.session.host") for child in children)

    try:
        until(trains)
        command.terminate()
        assert command.wait(30) == 130
        _, alive = psutil.wait_procs(children, 10)
        assert not alive
    finally:
        command.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()


@pytest.mark.session
@pytest.mark.slow
def test_transports(capsys):
    """Each transport has a row per N, or a reason why it cannot run the task."""
    found = json_of(capsys, "transports")
    for row in found["rows"]:
        assert set(row) == ROW
        assert 0 < row["p50_us"] <= row["p95_us"] <= row["p99_us"]
        assert row["sps"] > 0
    rows = {(row["transport"], row["num_envs"]): row["p50_us"] for row in found["rows"]}
    assert set(rows) >= {("inline", 1), ("shm", 1), ("shm", 32), ("socket", 1), ("socket", 32)}
    assert found["p50_us"] == {name: p50 for (name, num_envs), p50 in rows.items() if num_envs == 1}
    if ("http", 1) in rows:
        assert found["http_over_shm"] == rows["http", 1] / rows["shm", 1]
    assert "GIL" in found["absent"]["threads"]


@pytest.mark.slow
def test_engine(capsys):
    """Each built-in game has a rate."""
    found = json_of(capsys, "engine")
    assert found["placements_per_second"]["median"] > 0
    assert found["autochess_decisions_per_second"]["median"] > 0
    assert found["treasure_agent_steps_per_second"]["median"] > 0
    assert found["holdem_hands_per_second"]["median"] > 0


def test_traces(capsys):
    """Each transport has the hash of its results."""
    found = json_of(
        capsys, "traces", "--task", "noop:length=5", "--games", "30", "--num-envs", "2", "--backends", "inline"
    )
    assert [(row["transport"], row["identical"]) for row in found["rows"]] == [("inline", True)]
    assert found["games"] >= 3
    assert found["difference"] is None


@pytest.mark.session
def test_traces_that_differ(capsys, monkeypatch):
    """The exit code is 1, and the first difference is named."""
    monkeypatch.syspath_prepend(str(TESTS / "backends"))
    assert main(["bench", "traces", "--task", "faulty:Whimsical", "--games", "1", "--backends", "shm"]) == 1
    assert "shm differs in observation of environment 0 at step 0" in " ".join(capsys.readouterr().out.split())
