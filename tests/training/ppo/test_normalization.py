"""PPO with normalized observations, rewards and advantages."""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pac.envs import BadParameter, find
from pac.training.nets.decoding import image_shape
from pac.training.nets.running_moments import ImageMoments
from pac.training.ppo.evaluate import PpoPlayer
from pac.training.ppo.learning import _counted
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.settings import PpoSettings
from pac.training.ppo.trainer import PPO
from pac.training.ranks import SingleRank

from ..alone import context, started
from ..corridor import corridor

NORMALIZED: dict[str, Any] = {"normalize_observation": True, "normalize_reward": True, "normalize_per_minibatch": True}


def training(kind: type[PPO | PpoPlayer] = PPO, iterations: int = 0, **overrides: Any) -> AbstractContextManager[Any]:
    """Return a context with a trainer of 8 pendulums, whose rewards are between -16 and 0."""
    settings = {"batch": 128, "minibatch": 64, "threads": 1, **overrides}
    return started(kind, context(find("Pendulum-v1"), **settings), iterations=iterations)


def test_the_moments_are_those_of_all_observations_so_far() -> None:
    """After three rollouts, each of 128 observations."""
    seen = []
    with training(**NORMALIZED) as trainer:
        for _ in range(3):
            trainer.iterate()
            seen.append(trainer._envs.buffer["observation"][:-1].reshape(-1, 3).copy())
        moments, everything = trainer.policy.observations, np.concatenate(seen)
        assert int(moments.count) == len(everything)
        assert np.allclose(moments.mean, everything.mean(0), atol=1e-5)
        assert np.allclose(moments.variance, everything.var(0), rtol=1e-4)


def test_values_are_shown_in_the_rewards_of_the_environment() -> None:
    """What viewers and breakpoints get is the network's value times the deviation of returns."""
    with training(**NORMALIZED, iterations=1) as trainer:
        values = trainer._storages[0].values[:3].numpy()
        deviation = float(trainer.policy.rewards.deviation)
        assert deviation > 2
        assert np.allclose(trainer.values(slice(0, 3)), values * deviation)
        assert trainer.inspect(0).value == pytest.approx(float(trainer.decided[1][0]) * deviation, rel=1e-5)


def test_a_resumed_training_has_the_same_moments_and_sums() -> None:
    """A new trainer that loads the state has the same state again."""
    with training(**NORMALIZED) as one, training(**NORMALIZED) as two:
        one.iterate()
        tensors, data = one.state()
        two.load_state(tensors, data)
        again, _ = two.state()
    assert {"policy.observations.mean", "policy.rewards.variance", "reward_sums"} <= tensors.keys()
    assert all(torch.equal(tensors[name], again[name]) for name in tensors)


def test_playing_changes_no_moments() -> None:
    """A player uses the moments of the training, frozen."""
    with training(**NORMALIZED, iterations=1) as trainer:
        tensors, data = trainer.state()
    with training(PpoPlayer, **NORMALIZED) as player:
        player.load_state(tensors, data)
        player.iterate()
        assert torch.equal(player.policy.observations.mean, tensors["policy.observations.mean"])
        assert torch.equal(player.policy.rewards.variance, tensors["policy.rewards.variance"])


@pytest.mark.thorough
def test_a_task_that_does_not_ask_for_it_is_not_normalized() -> None:
    """Its state has no moments."""
    with training(iterations=1) as trainer:
        tensors, _ = trainer.state()
        assert trainer.policy.observations is trainer.policy.rewards is None
    assert not any("observations" in name or "reward" in name for name in tensors)


def test_images_have_a_mean_per_pixel_and_one_deviation() -> None:
    """A pixel that rarely changes is not amplified, and constant ones become 0."""
    images = torch.full((8, 1, 2, 2), 0.25)
    images[0, 0, 0, 0] = 0.75
    moments = ImageMoments((1, 2, 2))
    moments.add(images, SingleRank())
    away = images - images.mean(0)
    assert torch.allclose(moments(images), away / away.square().mean().sqrt(), atol=1e-4)
    assert float(moments(images)[1, 0, 1, 1]) == pytest.approx(0, abs=1e-5)


def test_some_images_of_all_rows_change_the_moments() -> None:
    """The update looks at about 64 observations of each rollout, which are of every environment."""
    index = torch.arange(1024)
    counted = _counted(index, ImageMoments((1, 4, 4)))
    assert 55 <= len(counted) <= 64
    assert set((counted % 8).tolist()) == set(range(8))


def test_boards_can_be_normalized() -> None:
    """Their moments have the shape of the decoded planes."""
    task = corridor()
    with started(PPO, context(task, normalize_observation=True)) as trainer:
        trainer.iterate()
        moments = trainer.policy.observations
    assert isinstance(moments, ImageMoments)
    assert int(moments.count) > 0
    assert moments.mean.shape == image_shape(task.observation)


def test_normalizing_images_beside_numbers_is_refused() -> None:
    """The error says what to do."""
    task = corridor()
    task = replace(task, observation=replace(task.observation, images=((0, (8, 8, 3)),)))
    settings = PpoSettings.for_task(task, {"normalize_observation": True})
    with pytest.raises(BadParameter, match="set it to false for images beside"):
        PpoPolicy(task, settings, torch.Generator())
