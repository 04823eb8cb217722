"""Trainings whose environments are in memory of a device, without a session."""

from contextlib import AbstractContextManager
from typing import Any

from pac.envs import find
from pac.training.ppo.trainer import PPO

from ..alone import context, started

SMALL = {"batch": 64, "minibatch": 32, "epochs": 1, "hidden": 16, "channels": 8, "threads": 1}


def training(
    spec: str, device: str, num_envs: int = 8, iterations: int = 0, policy: str = "cpu", **settings: Any
) -> AbstractContextManager[PPO]:
    """Return a context with a trainer whose environments are in memory of `device`."""
    where = {"backend": "device", "device": policy, "envs_device": device}
    return started(PPO, context(find(spec), 3, **where, **(SMALL | settings)), num_envs, iterations)
