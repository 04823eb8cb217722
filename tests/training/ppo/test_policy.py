"""Which network a task gets, and what that network computes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pac.envs import Field, Task
from pac.training.nets.weights import Adam
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.settings import PpoSettings
from pac.training.ranks import SingleRank

from ..corridor import corridor


def task(observation: Field, actions: int = 3, action_shape: tuple[int, ...] = ()) -> Task:
    names: Any = {"spec": "t", "name": "t", "title": "T", "factory": ""}
    return Task(**names, observation=observation, num_actions=actions, action_shape=action_shape)


def policy(of: Task, **options) -> PpoPolicy:
    return PpoPolicy(of, PpoSettings.for_task(of, options), torch.Generator().manual_seed(0))


def test_a_board_of_actions_gets_an_equivariant_head() -> None:
    """Moving the board's content moves the logits, where the edges are out of sight."""
    observation = Field("observation", "uint8", (2, 16, 8), encoding="bits")
    net = policy(task(observation, 4 * 16 * 8, (4, 16, 8)), layers=2)
    board = np.zeros((2, 2, 16, 8), np.uint8)
    board[0, :, 7, 3] = 1
    board[1, :, 8, 3] = 1
    stored = torch.from_numpy(np.packbits(board.reshape(2, -1), axis=1, bitorder="little"))
    logits = net(stored, None)[0].detach().view(2, 4, 16, 8)
    assert torch.allclose(logits[0, :, 4:11], logits[1, :, 5:12], atol=1e-6)
    assert not torch.allclose(logits[0], logits[1], atol=1e-6)


@pytest.mark.parametrize("uniform", [(1, 3), (2, 4)], ids=["between others", "the last"])
def test_uniform_planes_change_the_work_and_not_the_function(uniform: tuple[int, int]) -> None:
    """Told or not that planes are uniform, the same weights give the same outputs and gradients."""
    board = torch.randint(0, 256, (6, 4, 7, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(2))
    board[:, slice(*uniform)] = board[:, slice(*uniform), :1, :1]
    plain = Field("observation", "uint8", (4, 7, 5), low=0, high=255)
    results = []
    for observation in (plain, replace(plain, uniform=uniform)):
        net = policy(task(observation, 3 * 7 * 5, (3, 7, 5)))
        logits, value = net(board, None)
        gradients = torch.autograd.grad(logits.square().sum() + value.square().sum(), list(net.parameters()))
        results.append((logits, value, *gradients))
    for reported, expected in zip(*reversed(results), strict=True):
        assert torch.allclose(reported, expected, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("fused", [True, False])
def test_a_rollout_sees_the_weights_as_they_are(fused: bool) -> None:
    """What is kept of the weights between steps is renewed after a gradient step, and after others were loaded."""
    observation = Field("observation", "uint8", (4, 7, 5), low=0, high=255, uniform=(1, 3))
    net, other = (policy(task(observation, 3 * 7 * 5, (3, 7, 5))) for _ in range(2))
    board = torch.randint(0, 256, (6, 4, 7, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(2))
    before = {name: value.clone() for name, value in net.state_dict().items()}

    def acted() -> torch.Tensor:
        with torch.inference_mode():
            logits: torch.Tensor = net(board, None)[0]
            return logits.clone()

    first = acted()
    logits, value = net(board, None)
    (logits.square().sum() + value.square().sum()).backward()
    Adam(net, learning_rate=0.1, fused=fused).step([torch.as_tensor(each.grad) for each in net.parameters()])
    stepped = acted()
    other.load_state_dict(net.state_dict())
    assert not torch.allclose(stepped, first)
    assert torch.allclose(stepped, other(board, None)[0], atol=1e-5)
    net.load_state_dict(before)
    assert torch.equal(acted(), first)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "observation",
    [
        Field("observation", "float32", (4,)),
        Field("observation", "uint8", (12,), low=0, high=9),
        *(
            Field("observation", "uint8", shape, low=0, high=255)
            for shape in ((84, 84, 3), (4, 84, 84), (84, 84, 12), (210, 160), (34, 100, 3))
        ),
        *(Field("observation", "uint8", shape, encoding="bits") for shape in ((5, 6, 7), (9,))),
    ],
    ids=lambda field: f"{field.encoding}-{field.dtype}-{field.shape}",
)
def test_every_kind_of_observation_has_a_network(observation: Field) -> None:
    """Vectors, bytes, images and bits all give logits per action and a value per row."""
    stored = torch.zeros(2, *observation.stored_shape, dtype=getattr(torch, observation.dtype))
    logits, value = policy(task(observation))(stored, None)
    assert logits.shape == (2, 3)
    assert value.shape == (2,)


@pytest.mark.thorough
def test_large_pictures_are_reduced() -> None:
    """A console's whole screen takes a network of about the size that a small picture takes."""
    small, large = (Field("observation", "uint8", shape, low=0, high=255) for shape in ((84, 84, 3), (210, 160, 3)))
    sizes = [sum(weight.numel() for weight in policy(task(field)).parameters()) for field in (small, large)]
    assert sizes[1] < 1.5 * sizes[0]


def test_the_first_policy_is_nearly_uniform() -> None:
    """An untrained policy prefers no legal action."""
    of = corridor()
    stored = torch.randint(0, 256, (32, 2), dtype=torch.uint8)
    logits, _ = policy(of)(stored, torch.full((32, 1), 63, dtype=torch.uint8))
    assert logits.softmax(-1).std() < 0.05


@pytest.mark.parametrize("bounds", [(), ((-1.0, 1.0), (0.0, 3.0))], ids=["a choice", "numbers"])
def test_vectors_are_learned_from_as_by_autograd(bounds: tuple[tuple[float, float], ...]) -> None:
    """What the layers' own gradient says of each parameter, with scaled observations."""
    of = replace(task(Field("observation", "float32", (5,)), actions=len(bounds) or 3), bounds=bounds)
    learner, random = policy(of, normalize_observation=True), torch.Generator().manual_seed(0)
    observations = 3 * torch.randn(40, 5, generator=random)
    assert learner.observations is not None
    learner.observations.add(observations, SingleRank())
    outputs, values = learner(observations, None)
    slopes = [torch.randn(each.shape, generator=random) for each in (outputs, values)]
    wanted = torch.autograd.grad((outputs, values), list(learner.parameters()), slopes)
    found = learner.evaluated(observations, None)
    torch.testing.assert_close(found[:2], (outputs.detach(), values.detach()))
    for one, other in zip(found.gradients(*slopes), wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
