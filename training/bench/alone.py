"""Runs a trainer without a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from ...envs import Task
from ..lone_training import LoneTraining, maker
from ..trainer import Context, Timer
from ..trainers import build_trainer, trainer_settings, transformed_task


@contextmanager
def started(
    name: str,
    task: Task,
    settings: Mapping[str, Any],
    num_envs: int,
    backend: str,
    *,
    seed: int = 0,
    device: str = "cpu",
    envs_device: str = "cpu",
    **options: Any,
) -> Iterator[tuple[Any, Timer]]:
    """Yield a trainer that has environments, and the timer of its phases.

    Args:
        name: The trainer.
        settings: Settings that differ from the defaults.
        num_envs: Number of environments N.
        backend: Name of the backend that steps them.
        seed: Seed of trainer and environments.
        device: Device of the policy.
        envs_device: Device of the environments.
        **options: Further arguments of `make`.
    """
    chosen, timer = trainer_settings(name, task, settings), Timer()
    stepped = transformed_task(name, task, chosen)
    made = maker(stepped, backend, device=envs_device, strict=True, seed=seed, **options)
    trainer = build_trainer(name, Context(stepped, chosen, device, seed, timer))
    with closing(LoneTraining(trainer, made)) as training:
        training.open(num_envs)
        yield trainer, timer
