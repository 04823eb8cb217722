"""Environments of MiniGrid, as they are prepared for learning."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from pac.envs import BadParameter, find
from pac.envs.gym.grid_cells import COUNTS, IMAGE, GridCells

minigrid = pytest.importorskip("minigrid")

OWN = """
import gymnasium

gymnasium.register("MiniGrid-Mine-v0", "gymnasium.envs.classic_control:CartPoleEnv")
"""


class Cells(gymnasium.Env):
    """Shows cells with random numbers, each below its count and `more`."""

    action_space = Discrete(2)
    observation_space = Dict({"direction": Discrete(4), IMAGE: Box(0, 255, (3, 5, 3), np.uint8)})
    more = 0

    def reset(self, *, seed=None, **_):
        super().reset(seed=seed)
        cells = self.np_random.integers(np.array(COUNTS) + self.more, size=(3, 5, 3), dtype=np.uint8)
        return {"direction": 1, IMAGE: cells}, {}


def test_each_cell_has_one_object_one_color_and_one_state():
    """Those of its numbers; other parts of the observation are as they were."""
    env = GridCells(Cells())
    for seed in range(20):
        (seen, _), (plain, _) = env.reset(seed=seed), env.env.reset(seed=seed)
        assert env.observation_space.contains(seen)
        assert seen["direction"] == 1
        for cell, (kind, color, state) in zip(seen[IMAGE].reshape(15, -1), plain[IMAGE].reshape(15, 3), strict=True):
            assert np.flatnonzero(cell).tolist() == [kind, COUNTS[0] + color, COUNTS[0] + COUNTS[1] + state]


def test_numbers_that_minigrid_does_not_use_are_refused():
    """They would be read as those of another cell."""
    env = Cells()
    env.more = 5
    with pytest.raises(BadParameter, match="use --wrap none"):
        GridCells(env).reset(seed=0)


@pytest.mark.parametrize("name", ["minigrid:MiniGrid-DoorKey-5x5-v0", "minigrid:BabyAI-GoToObj-v0"])
def test_environments_of_minigrid_are_wrapped(name):
    """They are stored as bits, with settings of their own, and --wrap none leaves them as they are."""
    task, plain = find(name), find(f"{name} + none")
    assert task.wrappers == ("GridCells",)
    assert task.observation.encoding == "bits"
    assert task.observation.shape == (4 + 7 * 7 * sum(COUNTS),)
    assert task.settings_for["ppo"] == "MiniGrid"
    assert "--wrap none" in task.note
    assert not plain.wrappers
    assert plain.observation.dtype == "float32"


def test_an_own_environment_with_such_an_id_is_not_wrapped(tmp_path: Path, monkeypatch):
    """If it shows no cells, it is as it was."""
    (tmp_path / "mine.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    task = find("mine:MiniGrid-Mine-v0")
    assert not task.wrappers
    assert task.observation.shape == (4,)
    assert "wrap" not in task.note
