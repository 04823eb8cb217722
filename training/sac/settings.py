"""The settings of SAC."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..limits import MAX_HIDDEN, MAX_MINIBATCH
from ..replay.trainer_settings import ReplayTrainerSettings
from ..settings import Schedule


class SacSettings(ReplayTrainerSettings):
    """Settings of SAC, named as in the papers. All counts are decisions of all environments."""

    LIVE: ClassVar[frozenset[str]] = ReplayTrainerSettings.LIVE.union(("tau", "target_entropy"))

    learning_rate: Schedule = Field(3e-4, description="Learning rate of Adam, or a schedule over decisions.")
    replay_size: int = Field(1_000_000, gt=0, le=2**32, description="Decisions that the replay keeps.")
    learning_starts: int = Field(
        100, ge=0, le=2**32, description="Decisions before the first gradient step, whose actions are random."
    )
    train_frequency: int = Field(1, gt=0, le=2**32, description="Decisions between updates.")
    batch: int = Field(256, gt=0, le=MAX_MINIBATCH, description="Transitions per gradient step.")
    hidden: int = Field(256, gt=0, le=MAX_HIDDEN, description="Width of the fully connected layers.")
    tau: float = Field(
        0.005, gt=0, le=1, description="Share of the weights that a gradient step copies to the target network."
    )
    alpha: float = Field(1.0, gt=0, description="The first temperature: how much entropy counts (alpha).")
    target_entropy: float = Field(
        -1.0, description="Entropy per number of an action, in nats and relative to bounds of -1 and 1, that is kept."
    )
