"""The losses of DQN and IQN, and a gradient step, against a computation in NumPy."""

import numpy as np
import pytest
import torch

from pac.envs import find
from pac.training.dqn.learner import QLearner
from pac.training.dqn.loss import DenseGradient, DqnObjective, IqnObjective
from pac.training.dqn.networks import IqnNetwork, QNetwork
from pac.training.dqn.settings import DqnSettings, IqnSettings
from pac.training.nets.weights import EPSILON
from pac.training.replay.batches import Transitions
from pac.training.replay.priorities import PrioritySettings
from pac.training.replay.tensors import TransitionTensors

from ..replay.test_replay import World
from . import by_hand

B = 32
CPU = torch.device("cpu")
TINY = {"hidden": 4, "batch": 6, "max_grad_norm": 0.5, "learning_rate": 0.01, "tau": 0.25}
TINY_IQN = {**TINY, "fractions": 3, "target_fractions": 2, "policy_fractions": 4, "cosines": 5, "kappa": 0.7}


def network(seed: int, settings, kind=QNetwork):
    return kind(find("CartPole-v1"), settings, torch.Generator().manual_seed(seed))


def batch() -> Transitions:
    random = np.random.default_rng(0)
    return Transitions(
        observations=random.normal(size=(B, 4)).astype("f4"),
        actions=random.integers(0, 2, B),
        rewards=random.normal(size=B).astype("f4") * 3,
        discounts=np.where(random.random(B) < 0.3, 0, 0.97).astype("f4"),
        following=random.normal(size=(B, 4)).astype("f4"),
        masks=None,
        places=np.zeros((B, 2), np.int64),
    )


def test_stacks_that_share_frames_become_views_of_one_tensor():
    """So a GPU gets each frame once."""
    world = World(3, players=1, slots=60, steps=1, stack=4, waiting=0.0, made=60)
    drawn = world.replay.sample(8)
    tensors = TransitionTensors.of(drawn, CPU)
    assert tensors.observations.untyped_storage().data_ptr() == tensors.following.untyped_storage().data_ptr()
    assert np.array_equal(tensors.observations.numpy(), drawn.observations)
    assert np.array_equal(tensors.following.numpy(), drawn.following)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("huber", [False, True])
def test_the_loss_of_dqn_is_that_of_the_papers(double, dueling, huber):
    """Targets, the Huber or squared loss, double and dueling."""
    settings = DqnSettings(hidden=16, double=double, dueling=dueling, huber_loss=huber)
    online, target, given = network(1, settings), network(2, settings), batch()
    tensors, objective = TransitionTensors.of(given, CPU), DqnObjective(settings)
    (wanted,) = objective.targets(tensors, online, target, 0)
    found = objective.losses(online, tensors.observations, tensors.actions, wanted)

    own, other = by_hand.weights_of(online), by_hand.weights_of(target)
    expected = by_hand.dqn_targets(own, other, given, given.following, double=double)
    losses = by_hand.dqn_losses(own, given, given.observations, expected, is_huber=huber)
    taken = by_hand.values(own, given.observations)[np.arange(B), given.actions]
    assert wanted.numpy() == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert found.losses.detach().numpy() == pytest.approx(losses, rel=1e-4, abs=1e-4)
    assert found.values.numpy() == pytest.approx(taken, rel=1e-4, abs=1e-4)
    assert found.errors.numpy() == pytest.approx(np.abs(taken - expected), rel=1e-4, abs=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize(("kappa", "cvar"), [(1.0, 1.0), (0.3, 0.25)])
def test_the_loss_of_iqn_is_that_of_the_paper(double, dueling, kappa, cvar):
    """Wanted quantiles of the best action, and the sum of the quantile Huber losses over all pairs of fractions."""
    settings = IqnSettings(
        hidden=16, double=double, dueling=dueling, kappa=kappa, cvar=cvar, fractions=5, target_fractions=3, batch=B
    )
    online, target, given = network(1, settings, IqnNetwork), network(2, settings, IqnNetwork), batch()
    tensors, objective = TransitionTensors.of(given, CPU), IqnObjective(settings, 7, CPU)
    wanted, fractions = objective.targets(tensors, online, target, 0)
    found = objective.losses(online, tensors.observations, tensors.actions, wanted, fractions)

    own_fractions, target_fractions = objective.fractions(0)
    assert torch.equal(own_fractions, fractions)
    own, other = by_hand.weights_of(online), by_hand.weights_of(target)
    expected = by_hand.iqn_targets(
        own, other, given, given.following, fractions=target_fractions.numpy(), settings=settings
    )
    losses = by_hand.iqn_losses(
        own, given, given.observations, fractions=fractions.numpy(), wanted=expected, kappa=kappa
    )
    assert wanted.numpy() == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert found.losses.detach().numpy() == pytest.approx(losses, rel=1e-3, abs=1e-3)


def test_fractions_are_uniform_and_new_at_every_step():
    """They depend on the seed and on the number of gradient steps only."""
    settings = IqnSettings(batch=1_000)
    one, other = (IqnObjective(settings, seed, CPU) for seed in (1, 2))
    drawn, _ = one.fractions(3)
    assert torch.equal(drawn, one.fractions(3)[0])
    assert not torch.equal(drawn, one.fractions(4)[0])
    assert not torch.equal(drawn, other.fractions(3)[0])
    assert torch.histc(drawn, 8, 0, 1).numpy() == pytest.approx(np.full(8, 1_000), rel=0.1)


def test_a_value_of_iqn_is_the_mean_of_its_quantiles():
    """With cvar, of the lowest ones: an action whose return varies is worth less."""
    settings = IqnSettings(hidden=16, policy_fractions=200)
    net = network(1, settings, IqnNetwork)
    features = net.features(torch.randn(3, 4))
    every, shown = net.values(features)
    assert shown is not None
    assert every.detach().numpy() == pytest.approx(shown.detach().numpy().mean(1), abs=1e-5)
    averse = network(1, settings.model_copy(update={"cvar": 0.5}), IqnNetwork)
    lower = averse.values(features)[0].detach().numpy()
    assert lower == pytest.approx(shown.detach().numpy()[:, :100].mean(1), abs=1e-2)


@pytest.mark.parametrize("settings", [DqnSettings(**TINY), IqnSettings(**TINY_IQN)], ids=["dqn", "iqn"])
def test_an_update_is_the_one_computed_by_hand(settings):
    """The gradient by finite differences, clipped by its norm, and Adam's first step; then a soft target update."""
    world = World(5, slots=40, steps=1, stack=1, made=60)
    world.buffer["action_mask"][:] = 0b10110
    replay = world.replay
    learner = QLearner(world.task, settings, CPU, seed=3)
    learner.source.open(replay)
    with torch.no_grad():  # a bias of 0 may put a rectifier exactly where it has no derivative
        for own, other in zip(learner.online.parameters(), learner._target.parameters(), strict=True):
            own.add_(torch.randn(own.shape, generator=torch.Generator().manual_seed(4)) * 0.1)
            other.copy_(own)
    before = by_hand.weights_of(learner.online)
    generator = replay.generator()
    drawn = replay.sample(settings.batch)
    replay.set_generator(generator)
    loss, _, norm = learner.update(decisions=100)
    learner.update_target()

    x, following = drawn.observations / 255, drawn.following / 255
    if isinstance(settings, IqnSettings):
        objective = IqnObjective(settings, 3, CPU)
        fractions, others = (each.numpy().astype(np.float64) for each in objective.fractions(0))
        wanted = by_hand.iqn_targets(before, before, drawn, following, fractions=others, settings=settings)

        def mean_loss() -> float:
            losses = by_hand.iqn_losses(before, drawn, x, fractions=fractions, wanted=wanted, kappa=settings.kappa)
            return float(losses.mean())
    else:
        wanted = by_hand.dqn_targets(before, before, drawn, following, double=settings.double)

        def mean_loss() -> float:
            return float(by_hand.dqn_losses(before, drawn, x, wanted).mean())

    assert loss == pytest.approx(mean_loss(), rel=1e-4)
    gradients = {name: np.zeros_like(value) for name, value in before.items()}
    for name, gradient in gradients.items():
        for at in np.ndindex(gradient.shape):
            kept = before[name][at]
            losses = []
            for step in (1e-6, -1e-6):
                before[name][at] = kept + step
                losses.append(mean_loss())
            before[name][at] = kept
            gradient[at] = (losses[0] - losses[1]) / 2e-6
    length = np.sqrt(sum((gradient**2).sum() for gradient in gradients.values()))
    assert norm == pytest.approx(length, rel=1e-3)
    after, target = by_hand.weights_of(learner.online), by_hand.weights_of(learner._target)
    for name, gradient in gradients.items():
        clipped = gradient * min(1, 0.5 / length)
        expected = before[name] - 0.01 * clipped / (np.abs(clipped) + EPSILON)
        assert after[name] == pytest.approx(expected, abs=3e-4), name
        assert target[name] == pytest.approx(0.75 * before[name] + 0.25 * after[name], abs=1e-6)


@pytest.mark.parametrize("huber", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_by_hand_is_that_of_autograd(huber, weighted):
    """For each parameter, in their order."""
    settings = DqnSettings(hidden=16, layers=3, huber_loss=huber)
    net, objective, tensors = network(1, settings), DqnObjective(settings), TransitionTensors.of(batch(), CPU)
    (wanted,) = objective.targets(tensors, net, network(2, settings), 0)
    weights = torch.rand(B, generator=torch.Generator().manual_seed(0)) if weighted else None
    gradients, losses = DenseGradient(net, objective)(tensors.observations, tensors.actions, wanted, weights)
    found = objective.losses(net, tensors.observations, tensors.actions, wanted)
    mean = (found.losses if weights is None else found.losses * weights).mean()
    for own, expected in zip(gradients, torch.autograd.grad(mean, list(net.parameters())), strict=True):
        assert own.shape == expected.shape
        assert torch.allclose(own, expected, rtol=1e-4, atol=1e-6)
    for own, expected in zip(losses, found, strict=True):
        assert torch.allclose(own, expected, rtol=1e-4, atol=1e-6)


def test_a_prioritized_update_weighs_transitions_and_learns_their_priorities():
    """The weights are (N P)^-beta, divided by the largest; a priority is (|error| + epsilon)^alpha."""
    settings = DqnSettings(**TINY, prioritized=True, priority_alpha=0.5, priority_beta=0.4, priority_epsilon=0.1)
    chosen = PrioritySettings(settings.priority_alpha, settings.priority_epsilon)
    world = World(5, slots=40, steps=1, stack=1, priorities=chosen, made=60)
    world.buffer["action_mask"][:] = 0xFF
    learner, replay = QLearner(world.task, settings, CPU, seed=3), world.replay
    learner.source.open(replay)
    for _ in range(5):  # makes priorities different
        learner.update(0)
    generator, before = replay.generator(), by_hand.weights_of(learner.online)
    target = by_hand.weights_of(learner._target)
    drawn = replay.sample(settings.batch)
    replay.set_generator(generator)
    loss, _, _ = learner.update(0)

    assert drawn.densities is not None
    assert np.unique(drawn.densities).size > 1
    weights = drawn.densities**-0.4 / (drawn.densities**-0.4).max()
    x, following = drawn.observations / 255, drawn.following / 255
    wanted = by_hand.dqn_targets(before, target, drawn, following, double=True)
    assert loss == pytest.approx((by_hand.dqn_losses(before, drawn, x, wanted) * weights).mean(), rel=1e-3)
    errors = np.abs(by_hand.values(before, x)[np.arange(len(x)), drawn.actions] - wanted)
    assert replay._priorities is not None
    for place, error in {tuple(place): error for place, error in zip(drawn.places, errors, strict=True)}.items():
        assert replay._priorities.priority(*place) == pytest.approx((error + 0.1) ** 0.5, rel=1e-3)


@pytest.mark.parametrize("kind", [QNetwork, IqnNetwork])
def test_illegal_actions_are_not_the_next_ones(kind):
    """Where a mask follows, the best legal action counts."""
    task = find("drmario")
    net = kind(task, IqnSettings(channels=8, hidden=16), torch.Generator().manual_seed(0))
    stored = torch.zeros(2, *task.observation.stored_shape, dtype=torch.uint8)
    mask = torch.zeros(2, 64, dtype=torch.uint8)
    mask[0, 3], mask[1, 9] = 1 << 5, 1 << 2
    assert net(stored, mask).argmax(-1).tolist() == [29, 74]


@pytest.mark.parametrize("kind", [QNetwork, IqnNetwork])
def test_stacked_frames_are_channels(kind):
    """A network with a stack of images has k times the channels, and depends on each frame."""
    task = find("drmario")
    net = kind(task, IqnSettings(frame_stack=3, channels=8, hidden=16), torch.Generator().manual_seed(0))
    stored = torch.randint(0, 256, (1, 3, *task.observation.stored_shape), dtype=torch.uint8)
    values = net(stored)
    for frame in range(3):
        other = stored.clone()
        other[0, frame] ^= 0xFF
        assert not torch.equal(net(other), values)
