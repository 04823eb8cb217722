"""Distributions over actions: what is drawn, and how likely it was."""

import pytest
import torch
from torch import distributions

from pac.training.nets.decoding import FORBIDDEN
from pac.training.nets.distribution import Categorical, Distribution, Gaussian, Product, likelihood, sample

ROWS = 20_000


def uniform(rows: int, numbers: int = 1, seed: int = 0) -> torch.Tensor:
    return 1 - torch.rand(rows, numbers, generator=torch.Generator().manual_seed(seed))


def masked(rows: int = 2_000, actions: int = 11) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    legal = torch.rand(rows, actions, generator=generator) < 0.4
    legal[:, 3] = True
    return torch.randn(rows, actions, generator=generator) + torch.where(legal, 0.0, FORBIDDEN), legal


def test_illegal_actions_are_never_drawn() -> None:
    """Not once in many draws from masked logits."""
    logits, legal = masked()
    for seed in range(20):
        drawn, _ = sample(logits, uniform(len(logits), seed=seed))
        assert legal.gather(1, drawn.unsqueeze(1)).all()


def test_draws_follow_the_probabilities() -> None:
    """Frequencies of many draws agree with the softmax."""
    logits = torch.tensor([0.0, 1.0, FORBIDDEN, -1.0])
    drawn, _ = sample(logits.expand(100_000, 4), uniform(100_000))
    frequencies = torch.bincount(drawn, minlength=4) / len(drawn)
    assert torch.allclose(frequencies, logits.softmax(-1), atol=0.01)


def test_a_row_without_legal_actions_is_uniform_and_finite() -> None:
    """Rows of absent seats have empty masks and must not poison the batch."""
    logits = torch.full((1, 4), FORBIDDEN)
    logprob, entropy, _ = likelihood(logits, torch.tensor([2]))
    assert torch.isclose(logprob, torch.tensor(0.25).log()).all()
    assert torch.isfinite(entropy).all()


def test_log_probabilities_and_entropy_are_those_of_torch() -> None:
    """They agree with `torch.distributions.Categorical` over the legal actions."""
    logits, legal = masked()
    action, at_sampling = sample(logits, uniform(len(logits)))
    expected = distributions.Categorical(logits=logits.masked_fill(~legal, -torch.inf).clamp(min=-1e30))
    logprob, entropy, _ = likelihood(logits, action)
    assert torch.allclose(logprob, expected.log_prob(action), atol=1e-5)
    assert torch.allclose(at_sampling, logprob, atol=1e-5)
    assert torch.allclose(entropy, expected.entropy(), atol=1e-5)


def test_masked_logits_send_no_gradient_to_illegal_actions() -> None:
    """Neither the log-probability nor the entropy moves what cannot be chosen."""
    logits, legal = masked(rows=50)
    logits.requires_grad_()
    logprob, entropy, _ = likelihood(logits, sample(logits.detach(), uniform(50))[0])
    (logprob.sum() + entropy.sum()).backward()
    assert logits.grad is not None
    assert torch.all(logits.grad[~legal] == 0)
    assert torch.isfinite(logits.grad).all()


def drawn(outputs: torch.Tensor, distribution: Product | Gaussian) -> tuple[torch.Tensor, torch.Tensor]:
    return distribution.sample(outputs, uniform(len(outputs), distribution.numbers, seed=3))


def test_several_choices_are_independent() -> None:
    """Log-probability and entropy are the sums of those of PyTorch's categorical distributions."""
    outputs = torch.randn(ROWS, 5, generator=torch.Generator().manual_seed(1))
    product = Product((2, 3))
    action, at_sampling = drawn(outputs, product)
    parts = [distributions.Categorical(logits=part) for part in outputs.split([2, 3], -1)]
    logprob, entropy, _ = product.likelihood(outputs, action)
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
    gaussian = Gaussian(2)
    action, at_sampling = drawn(outputs, gaussian)
    normal = distributions.Normal(mean, deviation)
    logprob, entropy, _ = gaussian.likelihood(outputs, action)
    assert torch.allclose(logprob, normal.log_prob(action).sum(-1), atol=1e-4)
    assert torch.allclose(at_sampling, logprob, atol=1e-4)
    assert torch.allclose(entropy, normal.entropy().sum().expand(ROWS))
    assert torch.allclose(action.mean(0), mean, atol=0.1)
    assert torch.allclose(action.std(0), deviation, rtol=0.05)
    assert torch.equal(gaussian.best(outputs)[0], mean)


@pytest.mark.parametrize(
    "distribution", [Categorical(), Product((3, 1, 4)), Gaussian(4)], ids=lambda of: type(of).__name__
)
def test_slopes_are_those_of_autograd(distribution: Distribution) -> None:
    """Of the weighted sum of log-probabilities and entropies, also where actions are illegal."""
    random = torch.Generator().manual_seed(0)
    outputs = torch.randn(50, 8, dtype=torch.float64, generator=random)
    if not isinstance(distribution, Gaussian):
        outputs[:20, 4:6] -= 1e9
    outputs.requires_grad_()
    with torch.no_grad():
        actions = distribution.sample(outputs, uniform(50, distribution.numbers))[0]
    of_probability, of_entropy = torch.randn(50, generator=random).double(), torch.tensor(-0.3, dtype=torch.float64)
    found = distribution.likelihood(outputs, actions)
    total = (found.log_probability * of_probability).sum() + (found.entropy * of_entropy).sum()
    with torch.no_grad():
        slopes = found.slopes(of_probability, of_entropy)
    torch.testing.assert_close(slopes, torch.autograd.grad(total, outputs)[0])
