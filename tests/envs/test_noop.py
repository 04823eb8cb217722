"""The task that does nothing keeps the sizes of a big game, and ends."""

from __future__ import annotations

import numpy as np

from .begun import begun


def test_it_has_the_sizes_of_a_big_game():
    """612 numbers and 92 actions, all of them legal."""
    task, buffers, _ = begun("noop")
    mask = next(item for item in task.fields if item.name == "action_mask")
    assert buffers["observation"].shape == (1, 2, 612)
    assert mask.decode(buffers["action_mask"][0]).tolist() == [[1] * 92] * 2


def test_an_episode_is_cut_short_after_its_length():
    """The last observation tells that the episode is over, and the next one has begun."""
    _, buffers, environments = begun("noop:length=4", 1, seed=0)
    for _ in range(4):
        assert not buffers["truncated"].any()
        environments.step(0)
    assert buffers["truncated"][0, 0]
    assert buffers["episode_length"][0, 0] == buffers["episode_return"][0, 0] == 4
    assert buffers["final_observation"][0, 0, 0] == 1
    assert buffers["observation"][0, 0, 0] == 0
    assert buffers["episode"][0, 0] == 1


def test_others_play_on_when_one_begins_anew():
    """A reset of one environment leaves the other where it is."""
    _, buffers, environments = begun("noop:length=10", 2, seed=0)
    environments.step(0)
    environments.reset(np.array([True, False]), 0)
    assert buffers["episode_length"].tolist() == [[0, 1]]
    environments.step(0)
    assert buffers["episode_length"].tolist() == [[1, 2]]
