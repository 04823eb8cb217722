"""Every backend is a Gymnasium vector environment with same-step autoreset."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from pac.backends import make
from pac.envs import find


@pytest.fixture(params=["inline", "shm", "socket", "http"], scope="module")
def counters(request, toy):
    with closing(make(toy("Counter", length=3), 4, request.param, workers=2)) as envs:
        yield envs


def test_spaces_and_metadata(counters):
    """The spaces are those of one environment, batched; the autoreset mode is announced."""
    observations, infos = counters.reset(seed=5)
    assert observations in counters.observation_space
    assert counters.single_action_space.n == 4
    assert counters.action_space.sample().shape == (4,)
    assert counters.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert infos == {}


def test_the_end_of_an_episode(counters):
    """At an end the observation is the next episode's first, and infos hold the last one and the episode's figures."""
    counters.reset(seed=5)
    for action in (1, 2):
        *_, infos = counters.step(np.full(4, action))
        assert "final_obs" not in infos
    observations, rewards, terminations, truncations, infos = counters.step(np.full(4, 3))
    assert observations[:, 0].tolist() == [0, 0, 0, 0]
    assert rewards.tolist() == [3, 3, 3, 3]
    assert terminations.all()
    assert not truncations.any()
    assert infos["_final_obs"].all()
    assert [last[0] for last in infos["final_obs"]] == [3, 3, 3, 3]
    assert infos["final_info"]["episode_return"].tolist() == [6, 6, 6, 6]
    assert infos["final_info"]["episode_length"].tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("truncates", [False, True])
def test_truncation_is_not_termination(toy, truncates):
    """An environment that runs out of time is truncated."""
    with closing(make(toy("Counter", length=1, truncates=truncates), 2, "inline")) as envs:
        envs.reset()
        _, _, terminations, truncations, infos = envs.step(np.zeros(2, np.int64))
        assert (terminations.tolist(), truncations.tolist()) == ([not truncates] * 2, [truncates] * 2)
        assert infos["_final_obs"].all()


def test_a_partial_reset(counters):
    """Only the masked environments are reset."""
    counters.reset(seed=5)
    before = counters.step(np.ones(4, np.int64))[0].copy()
    mask = np.array([True, False, False, True])
    after, _ = counters.reset(options={"reset_mask": mask})
    assert after[:, 0].tolist() == [0, 1, 1, 0]
    assert np.array_equal(after[1:3], before[1:3])
    assert counters.buffer["episode"].tolist() == [[1, 0, 0, 1]]


def test_each_episode_has_its_own_seed(counters):
    """Environments differ from each other, and their next episode from this one."""
    first = counters.reset(seed=5)[0][:, 1].copy()
    second = counters.reset()[0][:, 1].copy()
    assert len({*first, *second}) == 8


@pytest.mark.parametrize("copy", [True, False])
def test_batches_are_views_unless_copies_are_wanted(toy, copy):
    """A view is overwritten by the next step, a copy is not; users never see the slots of a rollout buffer."""
    with closing(make(toy("Counter", length=100), 2, "inline", copy=copy, slots=1)) as envs:
        observations, _ = envs.reset()
        _, rewards, *_ = envs.step(np.ones(2, np.int64))
        envs.step(np.zeros(2, np.int64))
        assert observations[0, 0] == (0 if copy else 2)
        assert rewards[0] == (1 if copy else 0)
    with closing(make(toy("Counter", length=100), 2, "inline", copy=copy, slots=3)) as envs:
        envs.reset()
        assert [envs.step(np.zeros(2, np.int64))[0][0, 0] for _ in range(9)] == list(range(1, 10))


def test_masks_and_packed_observations_are_booleans():
    """A built-in game shows its bit planes and its mask decoded, and its figures in infos."""
    with closing(make(find("drmario"), 2, "inline")) as envs:
        observations, infos = envs.reset(seed=1)
        assert observations.dtype == np.bool_
        assert observations.shape == (2, 20, 16, 8)
        assert np.array_equal(infos["action_mask"], envs.action_masks())
        assert infos["action_mask"].shape == (2, 512)
        assert infos["viruses"].tolist() == [4, 4]
        assert infos["_viruses"].all()
        *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
        assert infos["pills"].tolist() == [1, 1]
