"""Trainings whose environments are in memory of a device, without a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pac.backends import make
from pac.envs import find
from pac.training.ppo.trainer import PPO
from pac.training.trainer import Context, Envs, Timer
from pac.training.trainers import trainer_settings

SMALL = {"batch": 64, "minibatch": 32, "epochs": 1, "hidden": 16, "channels": 8, "threads": 1}


@contextmanager
def training(spec: str, device: str, num_envs: int = 8, policy: str = "cpu", **settings: Any) -> Iterator[PPO]:
    """Yield a trainer whose environments are in memory of `device`."""
    task = find(spec)

    def make_envs(num_envs: int, slots: int, **options: Any) -> Envs:
        return make(task, num_envs, "device", slots=slots, seed=1, workers=2, **options)

    chosen = trainer_settings("ppo", task, SMALL | settings)
    trainer = PPO(Context(task, make_envs, chosen, policy, 3, Timer(), envs_device=device))
    trainer.start(num_envs)
    yield trainer
    trainer.close()
