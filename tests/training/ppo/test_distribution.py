"""Actions of several choices and of numbers: what is drawn, how likely it was, and that it can be learned."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Normal

from pac.envs import Task
from pac.training.ppo.distribution import FORBIDDEN, Gaussian, Product, distribution_of
from pac.training.ppo.evaluate import Player
from pac.training.ppo.output import policy_output
from pac.training.ppo.storage import Units
from pac.training.random_policy import RandomPolicy
from pac.training.trainer import PolicyOutput

from ..aim import CHOICES, aim
from .test_ppo import buffer_of, context, training

ROWS = 20_000


def drawn(outputs: torch.Tensor, distribution: Product | Gaussian) -> tuple[torch.Tensor, torch.Tensor]:
    return distribution.sample(outputs, torch.Generator().manual_seed(3))


def test_several_choices_are_independent() -> None:
    """Log-probability and entropy are the sums of those of PyTorch's categorical distributions."""
    outputs = torch.randn(ROWS, 5, generator=torch.Generator().manual_seed(1))
    product = Product((2, 3))
    action, at_sampling = drawn(outputs, product)
    parts = [Categorical(logits=part) for part in outputs.split([2, 3], -1)]
    logprob, entropy = product.log_probability_and_entropy(outputs, action)
    expected = sum(part.log_prob(action[:, index]) for index, part in enumerate(parts))
    assert torch.allclose(logprob, torch.as_tensor(expected), atol=1e-5)
    assert torch.allclose(at_sampling, logprob, atol=1e-5)
    assert torch.allclose(entropy, parts[0].entropy() + parts[1].entropy(), atol=1e-5)


def test_an_illegal_choice_is_never_drawn() -> None:
    """The mask's elements belong to the components in their order."""
    outputs = torch.zeros(ROWS, 5) + torch.tensor([0.0, FORBIDDEN, FORBIDDEN, 0.0, 0.0])
    action, _ = drawn(outputs, Product((2, 3)))
    assert torch.all(action[:, 0] == 0)
    assert set(action[:, 1].tolist()) == {1, 2}


def test_numbers_are_normal() -> None:
    """Density and entropy are those of PyTorch's normal distribution, and draws have its mean and deviation."""
    mean, deviation = torch.tensor([0.5, -2.0]), torch.tensor([0.1, 3.0])
    outputs = torch.cat((mean, deviation.log())).expand(ROWS, 4)
    gaussian = Gaussian()
    action, at_sampling = drawn(outputs, gaussian)
    normal = Normal(mean, deviation)
    logprob, entropy = gaussian.log_probability_and_entropy(outputs, action)
    assert torch.allclose(logprob, normal.log_prob(action).sum(-1), atol=1e-4)
    assert torch.allclose(at_sampling, logprob, atol=1e-4)
    assert torch.allclose(entropy, normal.entropy().sum().expand(ROWS))
    assert torch.allclose(action.mean(0), mean, atol=0.1)
    assert torch.allclose(action.std(0), deviation, rtol=0.05)
    assert torch.equal(gaussian.best(outputs)[0], mean)


@pytest.mark.session
@pytest.mark.parametrize(
    ("continuous", "iterations", "random", "learned"), [(True, 30, -0.6, -0.1), (False, 16, 0.5, 0.9)]
)
def test_ppo_learns(continuous: bool, iterations: int, random: float, learned: float) -> None:
    """From what chance gives to nearly the best, in some iterations; bounds differ by a factor of 20."""
    with training(aim(continuous=continuous), num_envs=16) as trainer:
        trainer.iterate()
        before = float(buffer_of(trainer)["reward"][1:].mean())
        for _ in range(iterations):
            trainer.iterate()
        after = float(buffer_of(trainer)["reward"][1:].mean())
    assert before < random + 0.15
    assert after > learned


def test_the_learner_sees_what_was_drawn() -> None:
    """What the environments get is clipped and in their units; log-probabilities are those of the draw itself."""
    with training(aim(continuous=True), num_envs=8) as trainer:
        trainer.iterate()
        storage = trainer._storage
        assert storage is not None
        units, taken = storage.actions[:-1], torch.from_numpy(buffer_of(trainer)["action"][:-1])
        assert units.abs().max() > 1
        assert torch.allclose(taken, units.clamp(-1, 1) * torch.tensor([1.0, 20.0]), atol=1e-5)


@pytest.mark.session
def test_random_actions_fill_the_bounds() -> None:
    """The random policy draws every number evenly within its bounds, and goes on where it was."""
    policy = RandomPolicy(context(aim(continuous=True)))
    policy.start(32)
    policy.iterate()
    actions = policy._actions[1].copy()
    assert np.ptp(actions[:, 1]) > 20
    assert np.abs(actions[:, 0]).max() <= 1
    before = policy.state()
    policy.iterate()
    again = [row.copy() for row in policy._actions[1:-1]]
    policy.load_state(*before)
    policy.iterate()
    assert np.array_equal(again, policy._actions[1:-1])
    policy.close()


def thought(of: Task, outputs: list[float]) -> PolicyOutput:
    cpu = torch.device("cpu")
    return policy_output(distribution_of(of), Units(of, cpu), torch.tensor(outputs), torch.tensor(0.5))


def test_what_it_thinks_of_numbers() -> None:
    """Means and deviations, in the environment's units."""
    output = thought(aim(continuous=True), [0.5, -0.5, 0.0, -1.0])
    assert output.means == pytest.approx([0.5, -10.0])
    assert output.deviations == pytest.approx([1.0, 20 * np.exp(-1.0)])
    assert not output.actions


def test_what_it_thinks_of_several_choices() -> None:
    """Each component's likeliest choice and its probability."""
    output = thought(aim(continuous=False), [0.0, 50.0, 0.0, 0.0, 0.0])
    assert len(output.actions) == len(CHOICES)
    assert output.actions[0] == 1
    assert output.probabilities == pytest.approx([1.0, 0.5])


@pytest.mark.parametrize("continuous", [True, False])
def test_what_was_learned_plays(continuous: bool) -> None:
    """A player takes over weights, deviations included, and plays."""
    task = aim(continuous=continuous)
    with training(task, num_envs=4) as trainer:
        trainer.iterate()
        state = trainer.state()
    player = Player(context(task))
    player.load_state(*state)
    player.start(4)
    assert np.isfinite(player.iterate()["value_mean"])
    assert player.inspect(3) is not None
    player.close()
