"""PPO in bfloat16, as it computes on GPUs; the CPU has the type, too."""

from typing import Any

import pytest
import torch
from torch import Tensor

from pac.envs import find
from pac.training.nets.precision import precision_on
from pac.training.ppo import update
from pac.training.ppo.evaluate import PpoPlayer
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.settings import PpoSettings
from pac.training.ppo.trainer import PPO

from ..alone import context, equal, started, weights
from ..corridor import corridor
from .test_kinds_of_actions import POSSIBLE
from .test_memory import RECURRENT

ROUNDING = 2.0**-8
"""The largest relative error of a rounding to bfloat16, which has 8 significant bits, twice: of both factors."""
SMALL = {"batch": 64, "minibatch": 32, "epochs": 1, "hidden": 16, "channels": 8, "threads": 1}


def gradients(policy: PpoPolicy, observations: Tensor) -> list[Tensor]:
    """Return the gradients of a weighted sum of outputs and values, of each parameter."""
    logits, value = policy(observations, None)
    weighted = sum((each * torch.linspace(-1, 1, each.numel()).view(each.shape)).sum() for each in (logits, value))
    return list(torch.autograd.grad(weighted, list(policy.parameters())))
