"""Checkpoints with a right checksum, and with data that no session has written."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from pac.backends.system.segment import new_directory
from pac.training.config import Config
from pac.training.runs.checkpoint import NoCheckpoint, load_newest, save
from pac.training.runs.folder import RunFolder
from pac.training.session.session import Session

FORGED: list[tuple[tuple[str, ...], Any]] = [
    (("seconds",), -1e300),
    (("seconds",), math.nan),
    (("seconds",), 1e300),
    (("seconds",), "long"),
    (("num_envs",), 0),
    (("num_envs",), -3),
    (("num_envs",), 10**9),
    (("num_envs",), True),
    *(
        (("counters", name), value)
        for name in ("steps", "frames", "episodes", "iterations")
        for value in (-1, 2**70, 0.5, None)
    ),
    (("counters", "outcomes"), []),
    (("counters", "outcomes"), {"terminated": "many"}),
    (("counters", "recent"), [["a", "b", "c"]]),
    (("counters", "recent"), 7),
    (("data",), {}),
    (("data", "decisions"), "x"),
]


@pytest.mark.session
def test_forged_numbers_are_skipped_with_a_reason(tmp_path):
    """The newest checkpoint that a session has written is taken."""
    options = {"task": "noop", "trainer": "random", "num_envs": 2, "backend": "inline", "runs_dir": tmp_path}
    Session(Config(**options, name="run", steps=256), new_directory(), headless=True).run()
    run = RunFolder.find(tmp_path, "run")
    saved = load_newest(run.checkpoints)
    for number, (path, value) in enumerate(FORGED):
        data: dict[str, Any] = deepcopy(dict(saved.data))
        part = data
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = value
        save(run.checkpoints, 10**6 + number, saved.tensors, data, keep=99)
    session = Session(Config(**options, resume="run", steps=512), new_directory(), headless=True)
    report = session.run()
    texts = [event[-1] for event in session.events.recent]
    assert report["steps"] == 512
    skipped = {text.partition(" ")[0] for text in texts if " is skipped: " in text}
    assert skipped == {f"step-{10**6 + number:012d}" for number in range(len(FORGED))}
    assert any("resumed run at 256 steps" in text for text in texts)


@pytest.mark.parametrize("name", ["policy.head.weight", "adam.head.weight.mean", "agent1.policy.head.weight"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_not_finite_are_skipped(tmp_path, name, value):
    """Of networks and of their optimizers; observations in a replay may be anything."""
    save(tmp_path, 1, {name: np.ones(2, "f4"), "replay.observation": np.full(2, value)}, {})
    save(tmp_path, 2, {name: np.array([1, value], "f4")}, {})
    found = load_newest(tmp_path)
    assert found.step == 1
    assert f"{name} contains NaN or infinite numbers" in found.skipped[0]


def test_what_cannot_be_taken_is_skipped(tmp_path):
    """If nothing can, the error is that of the newest."""
    save(tmp_path, 1, {}, {"n": 1})
    save(tmp_path, 2, {}, {"n": "two"})

    def take(found):
        int(found.data["n"])

    def refuse(found):
        raise NoCheckpoint(f"not {found.step}")

    assert load_newest(tmp_path, take=take).step == 1
    with pytest.raises(NoCheckpoint, match="not 2"):
        load_newest(tmp_path, take=refuse)
