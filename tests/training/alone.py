"""Trainers without a session, whose environments are in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import torch

from pac.backends import make
from pac.envs import Task
from pac.training.trainer import Context, Envs, Timer
from pac.training.trainers import trainer_settings


class Recorded:
    """Makes environments, and keeps them, so that a test sees what the learner was shown."""

    def __init__(self, task: Task, backend: str = "inline") -> None:
        self.task, self.backend = task, backend
        self.made: list[Any] = []

    def __call__(self, num_envs: int, slots: int, **options: Any) -> Envs:
        envs = make(self.task, num_envs, self.backend, slots=slots, seed=1, workers=2, **options)
        self.made.append(envs)
        return envs


def context(
    task: Task,
    seed: int = 0,
    *,
    trainer: str = "ppo",
    backend: str = "inline",
    device: str = "cpu",
    envs_device: str = "cpu",
    **settings: Any,
) -> Context:
    """Return what a session gives to a trainer."""
    made, chosen = Recorded(task, backend), trainer_settings(trainer, task, settings)
    return Context(task, made, chosen, device, seed, Timer(), envs_device=envs_device)


@contextmanager
def started(kind: Any, context: Context, num_envs: int = 8, iterations: int = 0) -> Iterator[Any]:
    """Yield a trainer of a kind that has started, and made some iterations."""
    with closing(kind(context)) as trainer:
        trainer.start(num_envs)
        for _ in range(iterations):
            trainer.iterate()
        yield trainer


def weights(trainer: Any) -> dict[str, torch.Tensor]:
    """Return copies of the weights of a trainer's policy."""
    return {name: value.clone() for name, value in trainer.policy.state_dict().items()}


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    """Whether two policies have the same weights, bit for bit."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
