"""Our games of several players are parallel environments of PettingZoo."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs import BadParameter
from pac.envs.gym.seats import parallel_env

from .begun import begun


@pytest.mark.filterwarnings("ignore:The old environment creation API:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The old API:DeprecationWarning")
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["treasure", "staghunt", "autochess"])
def test_pettingzoos_own_checker(name):
    """Each game passes PettingZoo's test of parallel environments."""
    env = parallel_env(name)
    pytest.importorskip("pettingzoo.test").parallel_api_test(env, num_cycles=150)
    env.close()


def test_agents_see_and_earn_what_the_seats_of_the_task_do():
    """The same seed and actions give the same observations, rewards and ends."""
    task, buffers, environments = begun("treasure:agents=3,turns=10", 1, seed=5)
    env = parallel_env("treasure", agents=3, turns=10)
    observations, _ = env.reset(seed=5)
    observed = next(item for item in task.fields if item.name == "observation")
    for turn in range(10):
        assert np.array_equal(list(observations.values()), observed.decode(buffers["observation"][0]))
        actions = np.arange(3) + turn
        buffers["action"][0] = actions % 4
        environments.step(0)
        observations, rewards, terminated, _, _ = env.step(dict(zip(env.agents, actions % 4, strict=True)))
        assert list(rewards.values()) == buffers["reward"][0].tolist()
    assert all(terminated.values())
    assert env.agents == []


def test_games_in_turns_are_refused():
    """The error names what plays them."""
    with pytest.raises(BadParameter, match=r"seats of kuhn act in turn; use gymnasium\.make_vec"):
        parallel_env("kuhn")
