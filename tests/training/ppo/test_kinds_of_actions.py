"""PPO on actions of several choices and of numbers: what the environments get, and that it can be learned."""

from pathlib import Path

import numpy as np
import pytest
import torch

from pac.envs import find
from pac.training.ppo.evaluate import PpoPlayer
from pac.training.random_policy import RandomPolicy

from ..aim import aim
from ..alone import context, started
from .test_ppo import buffer_of, training


@pytest.mark.session
@pytest.mark.parametrize(
    ("continuous", "iterations", "random", "learned"), [(True, 30, -0.6, -0.1), (False, 16, 0.5, 0.9)]
)
def test_ppo_learns(continuous: bool, iterations: int, random: float, learned: float) -> None:
    """From what chance gives to nearly the best, in some iterations; bounds differ by a factor of 20."""
    with training(aim(continuous=continuous), num_envs=16, iterations=1) as trainer:
        before = float(buffer_of(trainer)["reward"][1:].mean())
        for _ in range(iterations):
            trainer.iterate()
        after = float(buffer_of(trainer)["reward"][1:].mean())
    assert before < random + 0.15
    assert after > learned


@pytest.mark.session
@pytest.mark.parametrize("name", ["Pilot", "Crane"])
def test_actions_and_images_of_several_parts_are_learned_from(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Every weight of the network changes in two updates."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "backends"))
    small = {"channels": 4, "hidden": 8, "batch": 64, "minibatch": 32, "epochs": 1}
    with training(find(f"kinds:{name}"), num_envs=4, **small) as trainer:
        before = {key: weight.clone() for key, weight in trainer.policy.state_dict().items()}
        trainer.iterate()
        trainer.iterate()
        after = trainer.policy.state_dict()
    assert [key for key, weight in before.items() if torch.equal(weight, after[key])] == []


def test_the_learner_sees_what_was_drawn() -> None:
    """What the environments get is clipped and in their units; log-probabilities are those of the draw itself."""
    with training(aim(continuous=True), num_envs=8, iterations=1) as trainer:
        storage = trainer._storages[0]
        assert storage is not None
        units, taken = storage.buffer.actions[:-1], torch.from_numpy(buffer_of(trainer)["action"][:-1])
        assert units.abs().max() > 1
        assert torch.allclose(taken, units.clamp(-1, 1) * torch.tensor([1.0, 20.0]), atol=1e-5)


@pytest.mark.session
def test_random_actions_fill_the_bounds() -> None:
    """The random policy draws every number evenly within its bounds, and goes on where it was."""
    with started(RandomPolicy, context(aim(continuous=True)), 32, iterations=1) as policy:
        actions = policy._actions[1].copy()
        assert np.ptp(actions[:, 1]) > 20
        assert np.abs(actions[:, 0]).max() <= 1
        before = policy.state()
        policy.iterate()
        again = [row.copy() for row in policy._actions[1:-1]]
        policy.load_state(*before)
        policy.iterate()
        assert np.array_equal(again, policy._actions[1:-1])


@pytest.mark.parametrize("continuous", [True, False])
def test_what_was_learned_plays(continuous: bool) -> None:
    """A player takes over weights, deviations included, and plays."""
    task = aim(continuous=continuous)
    with training(task, num_envs=4, iterations=1) as trainer:
        state = trainer.state()
    with started(PpoPlayer, context(task), 4) as player:
        player.load_state(*state)
        assert np.isfinite(player.iterate()["value_mean"])
        assert player.inspect(3) is not None
