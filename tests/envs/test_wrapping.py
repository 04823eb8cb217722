"""Wrappers of Gymnasium environments: presets, Gymnasium's own and those of the user."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch

from pac.envs import BadParameter, UnknownName, find
from pac.envs.gym.adapted import SEED_BITS
from pac.envs.gym.atari import _weights, reduce_picture
from pac.envs.task import episode_seed
from pac.training.nets.device_buffer import DeviceBuffer
from pac.training.ppo.storage import RolloutStorage

from .begun import begun

BREAKOUT = "ALE/Breakout-v5"


def test_atari_games_are_wrapped_unless_asked_otherwise():
    """Four grey pictures are stacked, and the note says so; actions keep their names. Others leave them out."""
    task = find(BREAKOUT)
    assert (task.observation.shape, task.value_ends, task.spec) == ((4, 84, 84), "life_lost", BREAKOUT)
    assert task.action_names == ("noop", "fire", "right", "left")
    assert "--wrap none" in task.note
    assert "own score" in task.note
    assert task.settings_for["ppo"] == "Atari games"
    bare = find(f"{BREAKOUT} + none")
    assert (bare.observation.shape, bare.wrappers) == ((210, 160, 3), ())
    assert "--wrap atari" in bare.note
    assert find(f"{BREAKOUT}:obs_type=ram").observation.shape == (128,)
    assert "hardly learn" in find("ALE/PrivateEye-v5").note


def test_a_picture_is_averaged_over_areas():
    """It has the larger of two frames' pixels, and each new pixel is the mean of what it covers."""
    random = np.random.default_rng(0)
    before, frame = random.integers(0, 256, (2, 210, 160), np.uint8)
    seen = np.empty((84, 84), np.uint8)
    reduce_picture(before, frame, _weights(210, 84), _weights(160, 84), seen)
    larger = np.maximum(before, frame).astype(float).repeat(2, axis=0).repeat(21, axis=1)
    means = larger.reshape(84, 5, 84, 40).mean((1, 3))
    assert np.abs(seen - means).max() <= 0.51


def test_a_lost_life_ends_what_ppo_bootstraps_but_not_the_episode():
    """The episode is the game: its return is the score, while rewards are clipped. It is the same for the same seed."""
    task, buffers, environments = begun(BREAKOUT, 1, 400)
    _, again, others = begun(BREAKOUT, 1, 400)
    actions = np.random.default_rng(1).integers(0, task.num_actions, 399)
    for slot, action in enumerate(actions):
        for arrays, envs in ((buffers, environments), (again, others)):
            arrays["action"][slot] = action
            envs.step(slot)
    assert np.array_equal(buffers["observation"], again["observation"])
    ended = np.flatnonzero(buffers["terminated"][:, 0])
    lost = np.flatnonzero(buffers["life_lost"][:, 0])
    assert len(lost) > len(ended) > 0
    first = ended[0]
    assert buffers["life_lost"][: first + 1].sum() == 5
    assert buffers["episode_return"][first, 0] >= buffers["reward"][: first + 1].sum()
    data = RolloutStorage(task, DeviceBuffer(task, buffers, torch.device("cpu"))).data()
    assert np.array_equal(np.flatnonzero(data.terminated[:, 0]) + 1, lost)
    for envs in (environments, others):
        envs.close()


def test_the_return_is_that_before_rewards_are_changed():
    """What the learner gets is changed, and the note says so."""
    task, buffers, environments = begun("CartPole-v1 + ClipReward:min_reward=0,max_reward=0.25", 1)
    assert "own score" in task.note
    for _ in range(3):
        environments.step(0)
    assert buffers["reward"][0, 0] == 0.25
    assert buffers["episode_return"][0, 0] == 3
    environments.close()


def test_wrappers_are_applied_from_the_inside():
    """Each has its arguments, and observations are those of the outermost."""
    task, buffers, environments = begun("CartPole-v1 + TimeAwareObservation + FrameStackObservation:stack_size=2", 1)
    assert task.wrappers == ("TimeAwareObservation", "FrameStackObservation:stack_size=2")
    env = gymnasium.make("CartPole-v1")
    first, _ = env.reset(seed=episode_seed(3, 0, 0) & SEED_BITS)
    assert buffers["observation"].shape == (1, 1, 2, 5)
    assert np.allclose(buffers["observation"][0, 0, 1, :4], first)
    environments.close()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("drmario + ClipReward", "leave out ClipReward"),
        ("CartPole-v1 + ClipRewad", "Did you mean ClipReward"),
        ("CartPole-v1 + vector", "unknown wrapper"),
        ("CartPole-v1 + ClipReward:foo=1", "foo"),
        ("CartPole-v1 + no_module:Mine", "no_module"),
        ("CartPole-v1 + AtariGame", "Atari games"),
        ("CartPole-v1 + GridCells", "grid of cells"),
        (f"{BREAKOUT}:frameskip=4 + atari", "frameskip=1"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(spec, message):
    """The message names the wrapper."""
    with pytest.raises((BadParameter, UnknownName), match=message):
        find(spec)
