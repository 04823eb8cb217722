"""The settings of PPO."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from ...envs import Task
from ..settings import Schedule, TrainerSettings

MIN_STEPS = 8


class Settings(TrainerSettings):
    """Settings of PPO, in the paper's names; `batch` counts decisions of all rows together, so they hold for any N."""

    learning_rate: Schedule = Field(3e-4, description="Adam's step size, or a schedule over decisions")
    gamma: float = Field(0.99, gt=0, le=1, description="discount per decision, or per frame with gamma_per_frame")
    gamma_per_frame: bool = Field(default=False, description="discount by gamma^frames of the decision")
    gae_lambda: float = Field(0.95, ge=0, le=1, description="lambda of generalised advantage estimation")
    clip: float = Field(0.2, gt=0, description="the probability ratio is clipped to 1 - clip .. 1 + clip")
    value_coefficient: float = Field(0.5, ge=0, description="weight of the value loss")
    huber_value_loss: bool = Field(default=False, description="value loss linear beyond an error of 1, else quadratic")
    entropy_coefficient: Schedule = Field(0.01, description="weight of the entropy bonus, or a schedule over decisions")
    max_grad_norm: float = Field(0.5, gt=0, description="the gradient's norm is clipped to this")
    normalize_advantage: bool = Field(default=True, description="advantages of a batch have mean 0 and deviation 1")
    batch: int = Field(2048, gt=0, description="decisions per update, all environments together")
    epochs: int = Field(4, gt=0, description="passes over a batch")
    minibatch: int = Field(256, gt=0, description="decisions per gradient step")
    target_kl: float | None = Field(None, gt=0, description="stop an update's passes beyond this KL divergence")
    channels: int = Field(64, gt=0, description="channels of the hidden layers over a board")
    layers: int = Field(2, gt=0, description="hidden layers")
    hidden: int = Field(64, gt=0, description="width of fully connected layers")
    threads: int = Field(0, ge=0, description="threads of PyTorch on the CPU; 0: one per usable core")

    @model_validator(mode="after")
    def _minibatch_fits(self) -> Self:
        if self.minibatch > self.batch:
            raise ValueError(f"minibatch {self.minibatch} must not exceed batch {self.batch}")
        return self

    @classmethod
    def for_task(cls, task: Task, overrides: Mapping[str, Any] | None = None) -> Self:
        """Return the defaults, overridden by the task's recommendation, overridden by `overrides`.

        Raises:
            UnknownName: A key is unknown.
            BadParameter: A value does not fit.
        """
        return cls.read("ppo", {**task.settings.get("ppo", {}), **(overrides or {})})

    def steps(self, rows: int) -> int:
        """Steps of a rollout: as many as `batch` needs, and no fewer than an advantage needs to look ahead."""
        return max(MIN_STEPS, math.ceil(self.batch / rows))
