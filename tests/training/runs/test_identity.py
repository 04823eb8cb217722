"""What a run is of."""

from dataclasses import replace

import pytest

from pac.envs import BadParameter, find
from pac.training.runs.folder import RunFolder
from pac.training.runs.identity import changed_settings, check_identity, run_identity


def test_a_run_goes_on_with_what_it_is_of(tmp_path):
    """Another task, version, trainer or network's input is refused, with what to do."""
    run, ours = RunFolder.create(tmp_path, "run"), run_identity(find("drmario"), "ppo")
    run.write_metadata(ours)
    check_identity(run, ours)
    with pytest.raises(BadParameter, match="run trains drmario with ppo, not drmario:level=3 with ppo"):
        check_identity(run, run_identity(find("drmario:level=3"), "ppo"))
    with pytest.raises(BadParameter, match="not drmario with random"):
        check_identity(run, run_identity(find("drmario"), "random"))
    with pytest.raises(BadParameter, match="with other observations, actions or seats"):
        check_identity(run, ours | {"fingerprint": "0123"})
    task = find("autochess")  # observations of another version have the same shape and another meaning
    run.write_metadata(run_identity(replace(task, version=task.version - 1), "ppo"))
    with pytest.raises(BadParameter, match="was trained on another autochess"):
        check_identity(run, run_identity(task, "ppo"))


def test_settings_that_change_are_named(tmp_path):
    """As JSON has them: what was saved as a list and is a tuple again has not changed."""
    run = RunFolder.create(tmp_path, "run")
    run.write_metadata({"config": {"settings": {"batch": 256, "rate": ((0, 1.0), (9, 0.5)), "gone": 1}}})
    assert changed_settings(run, {"batch": 256, "rate": ((0, 1.0), (9, 0.5)), "new": 2}) == []
    assert changed_settings(run, {"batch": 64, "rate": 0.1}) == [
        "batch 64 instead of 256",
        "rate 0.1 instead of [[0, 1.0], [9, 0.5]]",
    ]
