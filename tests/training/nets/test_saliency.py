"""The gradient of a choice by the observation, against autograd on networks written out anew, from the same weights."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from pac.envs import Field, find
from pac.training.dqn.trainer import DQN
from pac.training.ppo.trainer import PPO
from pac.training.sac.trainer import SAC
from pac.training.trainer import Context, Timer, open_envs

from ...toys import toy

TOLERANCE = 1e-5
KINDS: dict[str, Any] = {"ppo": PPO, "dqn": DQN, "sac": SAC}


def trained(name, task, **settings):
    """Return a trainer with environments that has acted once."""
    from pac.backends import make

    trainer = KINDS[name](Context(task, settings, "cpu", 3, Timer()))
    open_envs(trainer, 2, lambda count, spec: make(task, count, backend="inline", seed=1, **spec.options))
    return trainer


def layers(values, modules, activation):
    """Return fully connected layers of numbers, by plain arithmetic."""
    *hidden, last = modules
    for layer in hidden:
        values = activation(values @ layer.weight.t() + layer.bias)
    return values @ last.weight.t() + last.bias


def linear(module):
    """Return the fully connected layers of a module."""
    return [each for each in module.modules() if isinstance(each, torch.nn.Linear)]


def by_hand(observation, target):
    """Return the gradient of a number by the observation, by the rows of a Jacobian."""
    found = torch.autograd.functional.jacobian(target, torch.from_numpy(np.array(observation, np.float32)))
    return found.numpy()


def newest(trainer, row=0):
    """Return the newest observation and mask of a row, as the session passes them."""
    buffer = trainer._envs.buffer
    slot = buffer.order.newest
    mask = np.array(buffer["action_mask"][slot, row]) if trainer._context.task.masked else None
    return np.array(buffer["observation"][slot, row]), mask


def test_the_logit_of_ppo_depends_on_its_numbers_as_by_hand():
    """A vector: the gradient of the logit of the chosen action, and of the most likely one if none is chosen."""
    trainer = trained("ppo", find("CartPole-v1"), batch=16, minibatch=16)
    observation, _ = newest(trainer)
    logits = linear(trainer.policy.network.action)
    for action in (0, 1):
        found = trainer.saliency(0, observation, None, np.array(action))
        expected = by_hand(observation, lambda x: layers(x, logits, torch.tanh)[action])  # noqa: B023
        assert (found.of, int(found.action)) == ("logit", action)
        np.testing.assert_allclose(found.gradient, expected, atol=TOLERANCE)
    likely = int(layers(torch.from_numpy(observation), logits, torch.tanh).argmax())
    assert int(trainer.saliency(0, observation, None, None).action) == likely
    trainer.close()


@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_the_choice_on_a_board_depends_on_its_cells_as_the_jacobian_says(name):
    """Packed planes with illegal actions; weights, their gradients and random numbers stay as they were."""
    settings = {"batch": 16, "minibatch": 16} if name == "ppo" else {"replay_size": 512, "learning_starts": 100}
    trainer = trained(name, find("drmario"), **settings)
    observation, mask = newest(trainer, 1)
    weights, drawn = {k: v.clone() for k, v in trainer.policy.state_dict().items()}, torch.get_rng_state()
    with torch.inference_mode():  # as the session acts
        found = trainer.saliency(1, observation, mask, None)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(torch.equal(value, weights[key]) for key, value in trainer.policy.state_dict().items())
    assert all(parameter.grad is None for parameter in trainer.policy.parameters())

    decoded = trainer.policy.decode(torch.from_numpy(observation[None]))
    packed = torch.from_numpy(mask[None])
    if name == "ppo":
        jacobian = torch.autograd.functional.jacobian(lambda x: trainer.policy.network(x)[0][0], decoded)
        best = int(trainer.policy(torch.from_numpy(observation[None]), packed)[0].argmax())
    else:
        jacobian = torch.autograd.functional.jacobian(
            lambda x: trainer.policy.values(trainer.policy.torso(x))[0][0], decoded
        )
        best = int(trainer.policy(torch.from_numpy(observation[None]), packed).argmax())
    assert int(found.action) == best
    assert np.abs(found.gradient).max() > 0
    np.testing.assert_allclose(found.gradient, jacobian[best, 0].numpy(), atol=TOLERANCE)
    trainer.close()


def test_continuous_actions_depend_on_numbers_by_their_value():
    """That of the state with PPO, that of the action with SAC, the lower one of both critics."""
    task = find("Pendulum-v1")
    trainer = trained("ppo", task, batch=16, minibatch=16, normalize_observation=True, normalize_reward=False)
    observation, _ = newest(trainer)
    moments = trainer.policy.observations
    moments.add(torch.randn(50, 3, generator=torch.Generator().manual_seed(1)), trainer._context.ranks)
    value = linear(trainer.policy.network.value)
    found = trainer.saliency(0, observation, None, None)
    expected = by_hand(observation, lambda x: layers((x - moments.mean) / moments.deviation, value, torch.tanh)[0])
    assert (found.of, found.action) == ("value", None)
    np.testing.assert_allclose(found.gradient, expected, atol=TOLERANCE)
    trainer.close()

    trainer = trained("sac", task, replay_size=512, learning_starts=100)
    action = np.array([1.5], np.float32)
    critics = [list(critic.children()) for critic in trainer.policy.critics]
    found = trainer.saliency(0, observation, None, action)

    def lower(x):
        both = torch.cat((x, torch.tensor([0.75])))  # of a torque from -2 to 2
        return torch.minimum(*(layers(both, critic, torch.relu)[0] for critic in critics))

    assert found.of == "Q"
    np.testing.assert_allclose(found.gradient, by_hand(observation, lower), atol=TOLERANCE)
    np.testing.assert_allclose(found.action, action, atol=1e-6)
    trainer.close()


def test_of_a_stack_it_is_that_of_the_newest_frame():
    """Also while its step is not in the replay yet; an episode's first frame is repeated."""
    trainer = trained("dqn", find("CartPole-v1"), replay_size=512, learning_starts=100, frame_stack=3, dueling=False)
    trainer._open_replay()
    observation, _ = newest(trainer)
    found = trainer.saliency(0, observation, None, np.array(1))
    network = trainer.policy

    def value(x):
        frames = torch.cat((*[torch.from_numpy(observation)] * 2, x))
        features = functional.relu(layers(frames, [*network.torso.layers], torch.relu))
        return layers(features, [network.advantage], torch.relu)[1]

    np.testing.assert_allclose(found.gradient, by_hand(observation, value), atol=TOLERANCE)
    trainer.close()


def test_images_with_their_channels_last_keep_their_shape():
    """The gradient lies over the observation as it is shown."""
    from pac.training.nets.decoding import decoder
    from pac.training.nets.saliency import gradient_by_input

    task = toy("uint8", (6, 5, 3))
    weights = torch.arange(90.0).view(1, 3, 6, 5)
    stored = np.zeros((6, 5, 3), np.uint8)
    found = gradient_by_input(decoder(task.observation), task.observation, stored, lambda x: (x * weights).sum())
    np.testing.assert_array_equal(found, weights[0].permute(1, 2, 0).numpy())
    assert Field("observation", "uint8", (6, 5, 3), per="seat").shape == found.shape
