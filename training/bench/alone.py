"""A trainer without a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...backends import make
from ...envs import Task
from ..trainer import Context, Envs, Timer
from ..trainers import build_trainer, trainer_settings, transformed_task


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
) -> tuple[Any, Timer]:
    """Return a trainer that has been started, and the timer of its phases.

    Args:
        name: The trainer.
        task: The task.
        settings: Its settings that are not the default.
        num_envs: Number of environments N.
        backend: Steps them.
        seed: Seed of trainer and environments.
        device: Device of the policy.
        envs_device: Device of the environments.
        **options: More arguments of `make`.
    """
    chosen, timer = trainer_settings(name, task, settings), Timer()
    stepped = transformed_task(name, task, chosen)

    def make_envs(num_envs: int, slots: int, **more: Any) -> Envs:
        return make(stepped, num_envs, backend, strict=True, slots=slots, seed=seed, **options, **more)

    trainer = build_trainer(name, Context(stepped, make_envs, chosen, device, seed, timer, envs_device=envs_device))
    trainer.start(num_envs)
    return trainer, timer
