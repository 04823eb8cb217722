"""The optimiser, against PyTorch's own."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from pac.training.nets.weights import EPSILON, Adam

from ...programs import python

RATE = 1e-2


def network() -> nn.Module:
    """Return a network, the same every time."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(16, 2))


def descend(model: nn.Module, step: Callable[[], object], steps: int) -> None:
    """Take some steps, each with its own gradients."""
    for number in range(steps):
        model.zero_grad()
        model(torch.full((5, 3, 4, 4), 0.1 * number)).square().sum().backward()
        step()


def adam_step(model: nn.Module, optimizer: Adam) -> Callable[[], object]:
    """Return a function that takes a step with the gradients of a network."""
    return lambda: optimizer.step([torch.as_tensor(each.grad) for each in model.parameters()])


def weights(model: nn.Module) -> torch.Tensor:
    """Return all parameters in a row."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.session  # PyTorch's own loads its compiler, which takes a second
@pytest.mark.parametrize("fused", [True, False])
def test_it_takes_the_steps_of_pytorchs_adam(fused: bool) -> None:
    """The same gradients lead to the same weights."""
    ours, theirs = network(), network()
    before = weights(ours)
    descend(ours, adam_step(ours, Adam(ours, learning_rate=RATE, fused=fused)), 5)
    descend(theirs, torch.optim.Adam(theirs.parameters(), lr=RATE, eps=EPSILON, fused=fused).step, 5)
    assert torch.equal(weights(ours), weights(theirs))
    assert not torch.allclose(weights(ours), before)


def test_it_goes_on_from_its_state() -> None:
    """Two halves with a save between them lead where the whole leads."""
    whole, halves = network(), network()
    throughout, first, second = (Adam(model, learning_rate=RATE) for model in (whole, halves, halves))
    descend(whole, adam_step(whole, throughout), 2)
    descend(whole, adam_step(whole, throughout), 2)
    descend(halves, adam_step(halves, first), 2)
    second.load_state(first.state())
    descend(halves, adam_step(halves, second), 2)
    assert torch.equal(weights(whole), weights(halves))


TRAIN = """
import sys
from pac.envs import find
from pac.training.lone_training import LoneTraining, maker
from pac.training.trainer import Context, Timer
from pac.training.trainers import build_trainer, trainer_settings
task = find("noop")
trainer = build_trainer("ppo", Context(task, trainer_settings("ppo", task, {}), "cpu", 0, Timer()))
owner = LoneTraining(trainer, maker(task))
owner.open(8)
assert trainer.iterate()
owner.close()
sys.exit("torch._dynamo" in sys.modules)
"""


@pytest.mark.session
def test_training_loads_no_compiler() -> None:
    """It would take a second of every start."""
    python("-c", TRAIN, check=True)
