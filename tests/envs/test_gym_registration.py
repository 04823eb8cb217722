"""Our games are Gymnasium environments."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pac.envs import BadParameter, find
from pac.envs.gym import GAMES, TaskEnv

from ..programs import python

ALONE = [name for name, task in GAMES.items() if find(task).players == 1]
OF_TWO = [name for name, task in GAMES.items() if find(task).players == 2]


@pytest.mark.parametrize("name", ALONE)
def test_gymnasiums_own_checker(name):
    """Each game of one player passes Gymnasium's environment checker without a warning."""
    env = gymnasium.make(name).unwrapped
    check_env(env)
    env.close()


@pytest.mark.session
def test_made_in_a_fresh_interpreter():
    """`gym.make("pac.envs.gym:...")` is all that a user needs."""
    code = "import gymnasium; print(gymnasium.make('pac.envs.gym:pac/DrMario-v0', level=3).reset(seed=1)[1]['viruses'])"
    result = python("-c", code)
    assert result.stdout.strip() == "16", result.stderr


def test_an_episode_of_masked_actions():
    """Legal actions are accepted until the end; the last observation is the ended episode's, a reset begins anew."""
    env = gymnasium.make("pac/DrMario-v0", level=20)
    observation, info = env.reset(seed=4)
    assert observation in env.observation_space
    terminated = truncated = False
    while not (terminated or truncated):
        assert np.array_equal(info["action_mask"], env.get_wrapper_attr("action_masks")())
        observation, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
    assert info["outcome"] > 0
    following, info = env.reset()
    assert not np.array_equal(observation, following)
    assert info["viruses"] == 84
    env.close()


def test_same_seed_same_episode():
    """A seed begins at its first episode, whatever was played before."""
    env = TaskEnv("drmario")
    first, info = env.reset(seed=8)
    env.step(info["action_mask"].argmax())
    env.reset()
    again, _ = env.reset(seed=8)
    assert np.array_equal(first, again)
    env.close()


def test_drawn_as_text():
    """In mode `ansi` the board is text, a character per cell."""
    env = gymnasium.make("pac/DrMario-v0", render_mode="ansi")
    env.reset(seed=1)
    lines = str(env.render()).splitlines()
    assert {len(line) for line in lines} == {8}
    assert len(lines) == 16
    env.close()


def test_a_vector_environment():
    """`make_vec` gives a backend whose batches are copies."""
    envs = gymnasium.make_vec("pac/DrMario-v0", num_envs=3, level=1)
    observations, infos = envs.reset(seed=1)
    before = observations.copy()
    envs.step(infos["action_mask"].argmax(axis=1))
    assert observations.shape == (3, 20, 16, 8)
    assert np.array_equal(before, observations)
    assert infos["viruses"].tolist() == [8, 8, 8]
    envs.close()


def test_unknown_parameters():
    """A parameter that the game does not have is an error that lists those it has."""
    with pytest.raises(BadParameter, match="Known: level, speed"):
        TaskEnv("drmario", stage=3)


def test_an_action_that_is_not_legal_stands_for_the_next_one():
    """Actions sampled without the mask can be played; one out of range cannot."""
    env = TaskEnv("drmario")
    _, info = env.reset(seed=8)
    illegal = np.flatnonzero(~info["action_mask"])[0]
    legal = next(action for action in range(int(illegal), 512) if info["action_mask"][action])
    assert env.step(illegal)[4]["action"] == legal
    with pytest.raises(BadParameter, match="from 0 to 511, got 512"):
        env.step(np.int64(512))
    env.close()


@pytest.mark.parametrize(
    "name",
    [
        "pac/Kuhn-v0",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in sorted({*OF_TWO} - {"pac/Kuhn-v0"})),
    ],
)
def test_games_of_two_are_vector_environments(name):
    """Rows are seats, whoever's turn it is says so, and a whole hand is played; one environment alone is refused."""
    envs = gymnasium.make_vec(name, num_envs=3)
    _, infos = envs.reset(seed=2)
    over = np.zeros(6, np.bool_)
    while not over.any():
        _, rewards, over, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
    assert rewards[over].any()
    assert (rewards[::2] == -rewards[1::2]).all()
    envs.close()
    with pytest.raises(BadParameter, match=r"2 players; use gymnasium\.make_vec"):
        gymnasium.make(name)
