"""The environment of PyBoy that the benchmark of the Game Boy compares with."""

import numpy as np
import pytest

from pac.envs import allocate, find
from pac.envs.gameboy.cartridge import own_bytes
from pac.envs.gameboy.games import find_game

pytestmark = pytest.mark.filterwarnings("ignore:Using SDL2 binaries")


@pytest.mark.thorough
def test_pyboys_environment_observes_the_same():
    """After the same moves of the grid walk, its packed picture is that of the task."""
    pytest.importorskip("pyboy")
    from .pyboy_env import PyBoyEnv

    task = find("gameboy:game=walk")
    peer, buffers = PyBoyEnv(own_bytes("walk"), find_game("walk", "")), allocate(task, 1, 2)
    environments = task.make(0, 1, buffers, 0)
    environments.reset(np.ones(1, np.bool_), 0)
    peer.reset()
    for action in (1, 1, 4, 1, 2, 4, 3):
        buffers["action"][0] = action
        environments.step(0)
        observation, *_ = peer.step(np.int64(action))
    assert np.array_equal(observation, buffers["observation"][1, 0])
    peer.close()
