"""Trainers without a session, whose environments are in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from pac.envs import Task
from pac.training.lone_training import LoneTraining, maker
from pac.training.trainer import Context, Timer
from pac.training.trainers import trainer_settings


@dataclass(frozen=True)
class LoneContext(Context):
    """What a trainer gets, and where its environments are."""

    backend: str = "inline"
    envs_device: str = "cpu"


def context(
    task: Task,
    seed: int = 0,
    *,
    trainer: str = "ppo",
    backend: str = "inline",
    device: str = "cpu",
    envs_device: str = "cpu",
    **settings: Any,
) -> LoneContext:
    """Return what a session gives to a trainer."""
    chosen = trainer_settings(trainer, task, settings)
    return LoneContext(task, chosen, device, seed, Timer(), backend=backend, envs_device=envs_device)


def owner_of(trainer: Any, context: LoneContext) -> LoneTraining[Any]:
    """Return the owner of a trainer's environments."""
    made = maker(context.task, context.backend, device=context.envs_device, seed=1, workers=2)
    return LoneTraining(trainer, made)


@contextmanager
def started(kind: Any, context: LoneContext, num_envs: int = 8, iterations: int = 0) -> Iterator[Any]:
    """Yield a trainer of a kind that has environments, of its `owner`, and made some iterations."""
    trainer = kind(context)
    with closing(owner_of(trainer, context)) as trainer.owner:
        trainer.owner.open(num_envs)
        for _ in range(iterations):
            trainer.iterate()
        yield trainer


def weights(trainer: Any) -> dict[str, torch.Tensor]:
    """Return copies of the weights of a trainer's policy."""
    return {name: value.clone() for name, value in trainer.policy.state_dict().items()}


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    """Whether two policies have the same weights, bit for bit."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
