"""The settings of PPO."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ...envs import Task
from ..limits import MAX_BATCH, MAX_CHANNELS, MAX_HIDDEN, MAX_LAYERS, MAX_MINIBATCH, MAX_PROCESSES, MAX_SEQUENCE
from ..settings import Schedule, TrainerSettings

MIN_STEPS = 8
FEW_STEPS = 32
"""Gradient steps of a pass over a batch that are few for a GPU."""


class PpoSettings(TrainerSettings):
    """Settings of PPO, named as in the paper. `batch` counts the decisions of all rows, so no setting depends on N."""

    LIVE: ClassVar[frozenset[str]] = frozenset(
        (
            *("learning_rate", "gamma", "gae_lambda", "clip", "value_coefficient", "entropy_coefficient"),
            *("max_grad_norm", "epochs", "target_kl"),
        )
    )

    learning_rate: Schedule = Field(3e-4, description="Learning rate of Adam, or a schedule over decisions.")
    gamma: float = Field(0.99, gt=0, le=1, description="Discount per decision, or per frame with gamma_per_frame.")
    gamma_per_frame: bool = Field(
        default=False, description="Discount by gamma^frames, with the frames until the next decision."
    )
    gae_lambda: float = Field(0.95, ge=0, le=1, description="Lambda of generalized advantage estimation (GAE).")
    clip: Schedule = Field(
        0.2, description="Clip the probability ratio to 1 - clip ... 1 + clip, or a schedule over decisions."
    )
    value_coefficient: float = Field(0.5, ge=0, description="Weight of the value loss.")
    huber_value_loss: bool = Field(
        default=False, description="Use the Huber loss for values: linear above an error of 1."
    )
    entropy_coefficient: Schedule = Field(
        0.01, description="Weight of the entropy bonus, or a schedule over decisions."
    )
    max_grad_norm: float = Field(0.5, gt=0, description="Maximum norm of the gradient.")
    normalize_advantage: bool = Field(
        default=True, description="Scale the advantages of a batch to mean 0 and standard deviation 1."
    )
    normalize_per_minibatch: bool = Field(
        default=False, description="Scale the advantages of each minibatch by themselves, instead of those of a batch."
    )
    normalize_observation: bool = Field(
        default=False,
        description="Scale observations, also images, to mean 0 and standard deviation 1, by those seen so far.",
    )
    normalize_reward: bool = Field(
        default=False, description="Divide rewards by the standard deviation of the discounted returns seen so far."
    )
    batch: int = Field(2048, gt=0, le=MAX_BATCH, description="Decisions per update, summed over all environments.")
    epochs: int = Field(4, gt=0, le=1000, description="Passes over the batch per update.")
    minibatch: int = Field(256, gt=0, le=MAX_MINIBATCH, description="Decisions per gradient step.")
    target_kl: float | None = Field(None, gt=0, description="End the update early above this KL divergence.")
    channels: int = Field(64, gt=0, le=MAX_CHANNELS, description="Channels of the convolutional layers.")
    layers: int = Field(2, gt=0, le=MAX_LAYERS, description="Number of hidden layers.")
    hidden: int = Field(64, gt=0, le=MAX_HIDDEN, description="Width of the fully connected layers.")
    memory: int = Field(
        0,
        ge=0,
        le=MAX_HIDDEN,
        description="Units of a recurrent layer (GRU), which remembers the episode's past observations. 0 is none.",
    )
    sequence: int = Field(
        16,
        gt=0,
        le=MAX_SEQUENCE,
        description="Steps of the sequences that a recurrent policy learns from.",
    )
    overlap: bool = Field(
        default=False, description="Collect the next rollout while learning from the last one, in a thread."
    )
    cuda_graph: bool = Field(
        default=False,
        description="Capture the steps of a rollout as a CUDA graph and replay it; for environments on a GPU.",
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="Type of products and activations; weights and losses are float32. auto is bfloat16 on CUDA from "
        "capability 8.0 on, and for images on CPUs with products in bfloat16, else float32.",
    )
    threads: int = Field(
        0,
        ge=0,
        le=MAX_PROCESSES,
        description="CPU threads of PyTorch. 0 is one per usable core.",
        json_schema_extra={"names": "processes"},
    )

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
        """Steps of a rollout: as many as `batch` needs, and no fewer than an advantage needs to look ahead.

        With a memory, they are whole sequences.
        """
        steps = max(MIN_STEPS, math.ceil(self.batch / rows))
        return steps if not self.memory else self.sequence * math.ceil(steps / self.sequence)

    def for_gpu(self, rows: int, most: int = MAX_MINIBATCH) -> dict[str, int]:
        """Return `batch` and `minibatch` for a GPU, if minibatches are too small for it; else nothing.

        Args:
            most: How large a minibatch there is memory for.
        """
        decisions = self.steps(rows) * rows
        if decisions <= 4 * FEW_STEPS * self.minibatch or decisions > MAX_BATCH:
            return {}
        larger = 1 << round(math.log2(decisions / FEW_STEPS))
        while larger > max(self.minibatch, min(most, MAX_MINIBATCH)):
            larger //= 2
        return {"batch": decisions, "minibatch": max(larger, self.minibatch)}

    def advice_for_gpu(self, rows: int) -> str:
        """Return a sentence if minibatches are too small for a GPU; else an empty text."""
        better, decisions = self.for_gpu(rows), self.steps(rows) * rows
        if not better:
            return ""
        return (
            f"an update of {decisions:,} decisions takes {self.epochs * decisions // self.minibatch:,} gradient steps "
            f"of {self.minibatch:,}, which leave a GPU mostly idle; --ppo.batch {decisions} --ppo.minibatch "
            f"{better['minibatch']} "
            "would be faster, and changes what is learned"
        )
