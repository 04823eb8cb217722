"""The baseline that an app's session remembers, or measures while its training waits."""

from __future__ import annotations

import stat

import numpy as np
import pytest

from pac.training.runs.checkpoint import load_newest
from pac.training.runs.folder import RunFolder
from pac.training.session import baseline
from pac.training.session.baseline import Baseline, SessionBaseline, recall, remember

from ...waiting import until
from ..watched import run_here

PPO = {"batch": 128, "minibatch": 64, "epochs": 1, "channels": 8, "hidden": 16, "threads": 1}
COMMON = {"task": "drmario", "num_envs": 4, "backend": "inline", "device": "cpu", "steps": 1024, "settings": PPO}


@pytest.fixture(autouse=True)
def own_state(monkeypatch, tmp_path):
    """Remember in a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def measuring(session):
    """Let a session measure as that of an app."""
    session.baseline = SessionBaseline(session.setup, session.services, session.envs, wanted=True)


@pytest.mark.session
def test_a_training_is_the_same_with_and_without_the_measurement(tmp_path, monkeypatch):
    """Its weights are equal bit for bit. The next session takes over the baseline, with its age."""
    start = SessionBaseline._start

    def started(self):
        start(self)
        until(lambda: not self._process.answers.empty(), "the warm-up")

    monkeypatch.setattr(SessionBaseline, "_start", started)
    monkeypatch.setattr(baseline, "LONGEST", 100.0)
    plain, _ = run_here(tmp_path, name="without", **COMMON)
    assert plain["baseline_fps"] is None
    for name in ("with", "again"):
        report, session = run_here(tmp_path, name=name, begin=measuring, **COMMON)
        assert report["speedup"] == pytest.approx(report["fps"] / report["baseline_fps"])
        assert session.counter.throughput.baseline_when > 0
        assert (session.baseline._process is None) is (name == "again")
    found = [load_newest(RunFolder.find(tmp_path, name).checkpoints).tensors for name in ("without", "with", "again")]
    assert all(np.array_equal(found[0][key], other[key]) for other in found[1:] for key in found[0])


def test_baselines_are_remembered_in_a_file_of_the_user(monkeypatch):
    """The oldest are forgotten, only the user can read it, and what is damaged is as if it were not there."""
    monkeypatch.setattr(baseline, "MOST", 2)
    for when, key in enumerate("abc"):
        remember(key, Baseline(100.0 + when, when))
    assert (recall("a"), recall("c")) == (None, Baseline(102.0, 2))
    assert stat.S_IMODE(baseline.file().stat().st_mode) == 0o600
    for text in ("[]", "{", '{"a": [1], "b": ["x", 2], "c": [0, 1]}'):
        baseline.file().write_text(text)
        assert recall("c") is None
