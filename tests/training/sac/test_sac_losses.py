"""The losses of SAC and its gradient step against a computation in NumPy, and the distribution of its actions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pac.envs import BadParameter, Task
from pac.training.nets.device_buffer import ActionScale
from pac.training.replay.batches import Transitions
from pac.training.replay.source import ReplaySource
from pac.training.sac.learner import EPSILON, SacLearner
from pac.training.sac.networks import check_task, squashed
from pac.training.sac.settings import SacSettings

from ..aim import aim
from ..dqn.by_hand import weights_of
from . import by_hand

B = 6
CPU = torch.device("cpu")
SETTINGS = SacSettings(hidden=4, batch=B, learning_rate=0.01, tau=0.25, alpha=0.3, target_entropy=-0.5)
TASK: Task = replace(aim(continuous=True), bounds=((-1.0, 1.0), (-5.0, 20.0)))
CENTRE, REACH = np.array([0.0, 7.5]), np.array([1.0, 12.5])


class Drawn(ReplaySource):
    """A source that always draws the same batch."""

    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(0)
        self.actions = random.uniform(-0.99, 0.99, (B, 2))
        self.batch = Transitions(
            observations=random.normal(size=(B, 2)).astype("f4"),
            actions=(CENTRE + REACH * self.actions).astype("f4"),
            rewards=random.normal(size=B).astype("f4") * 3,
            discounts=np.array([0, 0.97, 0.97, 0, 0.97, 0.97], "f4"),
            following=random.normal(size=(B, 2)).astype("f4"),
            masks=None,
            places=np.zeros((B, 2), np.int64),
        )

    def sample(self, count: int) -> list[tuple[Any, Transitions]]:
        assert count == B
        return [(None, self.batch)]


def learner_of(seed: int = 3) -> SacLearner:
    """A learner whose target critics are others, and whose policy is beyond a limit of its deviations somewhere."""
    learner = SacLearner(TASK, SETTINGS, CPU, seed)
    random = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in learner._target.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=random) * 0.1)
        learner.network.get_parameter("actor.2.bias")[2] = 2.05
    return learner


def test_a_gradient_step_is_the_one_computed_by_hand():
    """Each loss, its gradient by finite differences, Adam's first step, and the copy to the target critics."""
    learner, source = learner_of(), Drawn()
    learner.source = source
    before, target = weights_of(learner.network), weights_of(learner._target)
    normal = learner.normal(0).numpy().astype(np.float64)
    own, others = normal[:B], normal[B:]
    targets = by_hand.wanted(before, target, source.batch, others)
    losses = {
        "critics": lambda: by_hand.critic_loss(before, source.batch, source.actions, targets),
        "actor": lambda: by_hand.actor_loss(before, source.batch, own),
        "log_alpha": lambda: by_hand.alpha_loss(before, source.batch, own, 2 * SETTINGS.target_entropy),
    }
    found = dict(zip(learner.statistics, learner.update(decisions=100), strict=True))
    log_density = by_hand.drawn(before, source.batch.observations, own)[1]
    values = by_hand.critics(before, source.batch.observations, source.actions)
    squares = 0.0
    after, copied = weights_of(learner.network), weights_of(learner._target)
    for name, value in before.items():
        loss, gradient = losses[name.partition(".")[0]], np.zeros_like(value)
        for at in np.ndindex(value.shape):
            kept, both = value[at], []
            for step in (1e-6, -1e-6):
                value[at] = kept + step
                both.append(loss())
            value[at] = kept
            gradient[at] = (both[0] - both[1]) / 2e-6
        squares += (gradient**2).sum()
        assert after[name] == pytest.approx(value - 0.01 * gradient / (np.abs(gradient) + EPSILON), abs=2e-5), name
        if name.startswith("critics."):
            old = target[name.removeprefix("critics.")]
            assert copied[name.removeprefix("critics.")] == pytest.approx(0.75 * old + 0.25 * after[name], abs=1e-6)
    assert found == pytest.approx(
        {
            "critic_loss": losses["critics"](),
            "actor_loss": losses["actor"](),
            "alpha": 0.3,
            "entropy": -log_density.mean(),
            "value_mean": values[0].mean(),
            "grad_norm": squares**0.5,
        },
        rel=1e-4,
    )


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (1.5, -1.0), (-0.3, 0.8)])
def test_the_density_of_actions_integrates_to_one(mean, log_std):
    """And is that of the actions that are drawn: half of them are below tanh(mean)."""
    normal = torch.special.ndtri((torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000).unsqueeze(1)
    drawn = squashed(torch.tensor([[mean, log_std]], dtype=torch.float64).expand(len(normal), -1), normal)
    places, densities = drawn.actions[:, 0].numpy(), drawn.log_densities.exp().numpy()
    assert np.trapezoid(densities, places) == pytest.approx(1, abs=2e-3)
    assert np.median(places) == pytest.approx(np.tanh(mean), abs=1e-3)


def test_the_density_of_actions_at_their_bounds_is_finite():
    """Where the tanh is exactly 1 in float32, log(1 - tanh(u)^2) would be minus infinity."""
    drawn = squashed(torch.tensor([[40.0, 0.0], [-40.0, 0.0]]), torch.zeros(2, 1))
    assert drawn.actions.abs().eq(1).all()
    assert drawn.log_densities.numpy() == pytest.approx(2 * 40 - 2 * np.log(2) - np.log(2 * np.pi) / 2)


def test_a_number_without_bounds_is_refused():
    """The advice is a wrapper that can bound it, which RescaleAction cannot."""
    with pytest.raises(BadParameter, match=r"number 1 is in \[0.0, inf\].*TransformAction"):
        check_task(replace(TASK, bounds=((-1.0, 1.0), (0.0, np.inf))))


def test_a_number_with_equal_bounds_is_zero_to_the_critics():
    """Such as that of a joint that is locked: it would be NaN, and soon all weights."""
    scale = ActionScale(replace(TASK, bounds=((-1.0, 3.0), (2.0, 2.0))), CPU)
    assert scale.of_policy(torch.tensor([[2.0, 2.0]])).tolist() == [[0.5, 0.0]]


def test_the_noise_of_gradient_steps_is_new_at_each_of_them():
    """It depends on the seed and on the number of gradient steps only, and is normal."""
    one, other = (SacLearner(TASK, SacSettings(batch=2_000), CPU, seed) for seed in (1, 2))
    drawn = one.normal(3)
    assert torch.equal(drawn, one.normal(3))
    assert not torch.equal(drawn, one.normal(4))
    assert not torch.equal(drawn, other.normal(3))
    assert (float(drawn.mean()), float(drawn.std())) == pytest.approx((0, 1), abs=0.05)
