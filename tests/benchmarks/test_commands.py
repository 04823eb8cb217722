"""`python -m tests.benchmarks ...`: each benchmark runs once and its JSON has the documented keys."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from pac.training.bench.facts import facts
from pac.tui.cli.bench_show import show

from .__main__ import main
from .parts import COMPARISONS
from .table import ROWS, markdown, value_at


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in an empty directory."""
    monkeypatch.chdir(tmp_path)


def json_of(capsys, *arguments: str) -> dict[str, Any]:
    """Return what a benchmark prints as JSON."""
    assert main([*arguments, "--quick", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["benchmark"] == arguments[0]
    assert found["facts"]["versions"]["numpy"]
    return found


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("table", "gone"), "gone cannot be read: No such file"),
        (("all", "--output", "no/where"), "--output no/where cannot be written"),
        (("peers", "--peer-python", "gone"), "does not exist"),
        (("learning", "--output", "a.json"), "unknown option '--output'"),
        (("foo",), "unknown command 'foo'"),
    ],
    ids=lambda case: case[0] if isinstance(case, tuple) else "",
)
def test_false_arguments_are_named(capsys, arguments, text):
    """In one sentence."""
    assert main(list(arguments)) == 2
    assert text in capsys.readouterr().err


@pytest.mark.slow
def test_matrix(capsys, tmp_path):
    """Each combination has a row or a reason, and the report is in the runs folder."""
    found = json_of(capsys, "matrix", "--task", "noop", "--steps", "2048")
    assert {(row["transport"], row["num_envs"]) for row in found["rows"]} >= {("shm", 1), ("shm", 32)}
    assert "GIL" in found["absent"]["threads, N=32, cpu"]
    assert sorted(path.suffix for path in (tmp_path / "runs" / "bench").iterdir()) == [".json", ".md", ".svg"]


@pytest.mark.session
@pytest.mark.slow
def test_checkpoints(capsys):
    """The pauses of checkpoints and the rates are measured for a solver and a learner."""
    found = json_of(capsys, "checkpoints")
    for task in ("holdem", "drmario"):
        results = found[task]
        assert results["longest_pause_ms"] == max(results["pauses_ms"]) > 0
        assert results["rate_between"] > 0
        assert results["megabytes"] > 0
        assert 0 <= results["share_saving"] < 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_peers(capsys):
    """Each installed peer has a row per environment, and `shm` has ratios."""
    found = json_of(capsys, "peers")
    assert {"loop", "inline", "shm", "gymnasium-sync", "gymnasium-async"} <= {row["peer"] for row in found["rows"]}
    assert all(row["sps"] > 0 and row["num_envs"] == 32 for row in found["rows"])
    assert list(found["by_environment"]) == ["CartPole-v1", "burn-20us", "burn-100us"]
    assert found["async"]["ratio"] > 0
    assert (found["sb3"] is None) == ("sb3-training" in found["absent"])


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_poker(capsys):
    """Our own pairs are always measured; each other solver has a pair or a reason."""
    found = json_of(capsys, "poker")
    pairs = {name: pair for name, pair in found.items() if isinstance(pair, dict) and "ratio" in pair}
    assert {"leduc_workers", "holdem_workers"} <= set(pairs)
    for name, theirs in (("leduc", "open_spiel"), ("nash_conv", "open_spiel"), ("holdem_wide", "donksolver")):
        assert (name in pairs) != (theirs in found["absent"])
    for pair in pairs.values():
        assert pair["ours"]["median"] > 0
        assert pair["theirs"]["median"] > 0
        assert pair["ratio"] > 0


def results(**parts):
    """Return results of a run that measured only `parts`."""
    return {**parts, "facts": facts()}


@pytest.mark.parametrize("place", ROWS)
def test_rows_find_their_values(place):
    """Each row of the table contains its shown_value and whether its bound is reached."""
    row = ROWS[place]
    nested: object = row.aim
    for key in reversed(place.split("/")):
        nested = {key: nested}
    assert isinstance(nested, dict)
    assert value_at(nested, place) == row.aim
    assert row.passed(row.aim)
    assert not row.passed(row.bound * (1.01 if row.most else 0.99))
    assert value_at({}, place) is None


def test_the_table_marks_missed_bounds():
    """A shown_value that misses its bound is marked, and a missing one stays empty."""
    slow = {"burn-20us": {"shm_over_loop": 1.2}}
    lines = markdown(results(peers={"by_environment": slow, "async": {"ratio": 12.0}})).splitlines()
    (python,) = (line for line in lines if "over a plain loop" in line)
    (gymnasium,) = (line for line in lines if "random legal actions" in line and "AsyncVectorEnv" in line)
    assert "1.20x (missed)" in python
    assert "| 12.0x | >= 10.0x | 30.0x |" in gymnasium
    assert sum("not measured" in line for line in lines) == len(ROWS) - 2


@pytest.mark.parametrize("part", COMPARISONS.values(), ids=COMPARISONS)
def test_quick_runs_have_options_of_their_benchmark(part):
    """Each part names a function that takes its options and has defaults for a full run."""
    inspect.signature(part.load()).bind(progress=None, **part.quick)
    inspect.signature(part.load()).bind(progress=None)


def test_learning_shows_each_side(capsys):
    """A side that did not reach the goal has no time."""
    final = {"median": 500.0, "min": 480.5, "max": 500.0, "repetitions": 5}
    sides = {
        "pac-tui": {"final": final, "decisions": 20_000, "seconds": 4.25},
        "SB3": {"final": final, "decisions": None, "seconds": None},
    }
    found = {"task": "CartPole-v1", "steps": 100_000, "num_envs": 8, "goal": 475.0, "sides": sides}
    assert show("learning", found, json=False) == 0
    ours, theirs = capsys.readouterr().out.splitlines()[-2:]
    assert ours.split() == ["pac-tui", "500.0", "480.5", "500.0", "5", "20,000", "4.2", "s"]
    assert "not reached" in theirs
