"""The names of saved weights, which checkpoints of every version share."""

from typing import Any

import pytest
import torch

from pac.envs import Field, Task
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.settings import PpoSettings

VECTOR = Field("observation", "float32", (4,))
BOARD = Field("observation", "uint8", (2, 16, 8), encoding="bits")
IMAGE = Field("observation", "uint8", (84, 84, 3), low=0, high=255)


def layers(*names: str) -> list[str]:
    return [f"network.{name}.{kind}" for name in names for kind in ("weight", "bias")]


SAVED = [
    (VECTOR, (), layers("action.0", "action.2", "action.4", "value.0", "value.2", "value.4")),
    (BOARD, (), layers("lines.column", "lines.row", "mixing.0", "cell", "action", "value.0", "value.2")),
    (BOARD, (4, 16, 8), layers("lines.column", "lines.row", "mixing.0", "cell", "value.0", "value.2")),
    (IMAGE, (), layers("convolutions.0", "convolutions.2", "convolutions.4", "joint.0", "action", "value")),
]


def saved(**fields: Any) -> list[str]:
    """Return the names of the weights that PPO saves for a task."""
    task = Task(spec="t", name="t", title="T", factory="", **fields)
    return list(PpoPolicy(task, PpoSettings.for_task(task), torch.Generator().manual_seed(0)).state_dict())


@pytest.mark.parametrize(("observation", "action_shape", "names"), SAVED, ids=["vector", "board", "cells", "image"])
def test_the_names_of_saved_weights(observation: Field, action_shape: tuple[int, ...], names: list[str]) -> None:
    """They are the same as ever, so that checkpoints of earlier versions load."""
    actions = 4 * 16 * 8 if action_shape else 3
    assert saved(observation=observation, num_actions=actions, action_shape=action_shape) == names


def test_the_name_of_saved_deviations() -> None:
    """The deviations of a continuous action are saved beside the network."""
    assert saved(observation=VECTOR, num_actions=1, bounds=((-1.0, 1.0),))[0] == "log_std"
