"""What a policy thought of one row, for a person."""

import numpy as np
import pytest
import torch

from pac.envs import Task
from pac.training.nets.device_buffer import ActionScale
from pac.training.nets.distribution import distribution_of
from pac.training.nets.policy_trainer import policy_output
from pac.training.trainer import PolicyOutput

from ..aim import CHOICES, aim


def thought(of: Task, outputs: list[float]) -> PolicyOutput:
    cpu = torch.device("cpu")
    return policy_output(distribution_of(of), ActionScale(of, cpu), torch.tensor(outputs), torch.tensor(0.5))


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
