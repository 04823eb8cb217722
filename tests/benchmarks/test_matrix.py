"""The benchmark `matrix`, with real sessions, and its reports."""

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pac.training.bench.facts import facts
from pac.training.config import Config

from .chart import Group, bar_chart
from .matrix import COMBINATIONS, FIRST, LAST, Combination, matrix
from .matrix_report import matrix_markdown, write_matrix

SVG = "{http://www.w3.org/2000/svg}"
ROW = {
    *("name", "transport", "num_envs", "device", "sps", "rollout_sps", "games_per_s", "return_mean", "workers"),
    *("cpu", "rss", "gpu", "vram", "sps_spread", "target"),
}


def result(**changed):
    """Return results in the form of `matrix`, with the machine."""
    row: dict[str, Any] = {"name": "http, N=1, cpu", "transport": "http", "num_envs": 1, "device": "cpu", "workers": 1}
    row |= {"sps": 1000.0, "rollout_sps": 1200.0, "games_per_s": 1.5, "return_mean": -0.25, "target": 670.0}
    row |= {"cpu": 97.0, "rss": 300_000_000, "gpu": None, "vram": None}
    known = {"kind": "VectorNetwork", "layers": 2, "hidden": 256, "parameters": 469_341}
    result = {"task": "autochess", "trainer": "ppo", "steps": 8192, "network": known, "rows": [row], "absent": {}}
    return {**result, "rollout_ratio": None, "training_ratio": None, "facts": facts(), **changed}


def test_the_ratio_is_that_of_its_ends():
    """The first combination is one environment over HTTP, the last one on a CPU is shared memory at N = 32."""
    assert (FIRST.transport, FIRST.num_envs, LAST.transport, LAST.num_envs) == ("http", 1, "shm", 32)
    assert FIRST.device == LAST.device == "cpu"
    assert len({combination.name for combination in COMBINATIONS}) == len(COMBINATIONS)


def test_the_report_contains_rates_targets_and_gaps():
    """Each combination is a line with its results and its target, or with the reason why it was not measured."""
    text = matrix_markdown(result(absent={"shm, N=32, cuda": "no GPU"}, rollout_ratio=41.25))
    assert "| http, N=1, cpu | 1,000 | 670 | 1,200 | 1.50 | 97 % | 300 MB | N/A | N/A | -0.25 |" in text
    assert "| shm, N=32, cuda | N/A: no GPU |" in text
    assert "over `http` at N = 1: 41.2x" in text
    assert "whole training" not in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 1


def test_combinations_may_differ_in_a_parameter_of_the_task():
    """It is added to the spec, after others if there are any, and is part of the name."""
    combination = Combination("device", 32, "cuda", options="combat=device")
    assert combination.name == "device, N=32, cuda, combat=device"
    assert combination.spec("autochess") == "autochess:combat=device"
    assert combination.spec("autochess:players=8") == "autochess:players=8,combat=device"
    assert Combination("device", 32).spec("autochess") == "autochess"


def test_the_report_is_kept_in_three_files(tmp_path):
    """Markdown, JSON and the picture that the Markdown shows are in the same folder."""
    known = result()
    files = write_matrix(known, tmp_path / "bench")
    texts = {ending: (tmp_path / "bench" / path.rpartition("/")[2]).read_text() for ending, path in files.items()}
    assert json.loads(texts["json"]) == known
    assert files["svg"].rpartition("/")[2] in texts["md"]
    ET.fromstring(texts["svg"])


def test_a_chart_draws_longer_bars_for_more():
    """Bars grow with their values, a missing value has no bar, and labels are escaped."""
    groups = [Group("a < b", (10.0, 100.0), 50.0), Group("c", (None, 1000.0))]
    root = ET.fromstring(bar_chart("rates", ("one", "two"), groups, "target"))
    widths = [float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect") if bar.attrib.get("height") == "13"]
    assert len(widths) == 3
    assert widths == sorted(widths)
    assert "a < b" in [text.text for text in root.iter(f"{SVG}text")]
    assert sum(line.attrib["stroke"] == "#b02a2a" for line in root.iter(f"{SVG}line")) == 2


@pytest.mark.session
@pytest.mark.slow
def test_each_combination_is_a_session():
    """A combination that runs has all results; one that cannot run has a reason."""
    config = Config(task="noop:length=20", settings={"batch": 64, "minibatch": 64, "epochs": 1, "hidden": 8})
    combinations = (Combination("inline", 2), Combination("carrier pigeon", 1))
    found = matrix(config, combinations, steps=2048, progress=lambda _what, _share: None)
    (row,) = found["rows"]
    assert set(row) == ROW
    assert row["rollout_sps"] > row["sps"] > 0
    assert row["games_per_s"] > 0
    assert row["return_mean"] == 20
    assert "no backend carrier pigeon" in found["absent"]["carrier pigeon, N=1, cpu"]
    assert found["rollout_ratio"] is None
