"""The settings that trainers with a replay share."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from ..limits import MAX_HIDDEN, MAX_LAYERS, MAX_MINIBATCH, MAX_PROCESSES
from ..settings import Schedule, TrainerSettings


class ReplayTrainerSettings(TrainerSettings):
    """Settings of trainers with a replay, named as in the papers. All counts are decisions of all environments."""

    LIVE: ClassVar[frozenset[str]] = frozenset({"learning_rate", "gamma", "train_frequency", "gradient_steps"})

    learning_rate: Schedule = Field(2.5e-4, description="Learning rate of Adam, or a schedule over decisions.")
    gamma: float = Field(0.99, gt=0, le=1, description="Discount per decision, or per frame with gamma_per_frame.")
    gamma_per_frame: bool = Field(
        default=False, description="Discount by gamma^frames, with the frames until the next decision."
    )
    replay_size: int = Field(100_000, gt=0, le=2**32, description="Decisions that the replay keeps.")
    learning_starts: int = Field(1_000, ge=0, le=2**32, description="Decisions before the first gradient step.")
    train_frequency: int = Field(4, gt=0, le=2**32, description="Decisions between updates.")
    gradient_steps: int = Field(1, gt=0, le=1_000_000, description="Gradient steps per update.")
    batch: int = Field(64, gt=0, le=MAX_MINIBATCH, description="Transitions per gradient step.")
    n_step: int = Field(
        1, gt=0, le=64, description="Decisions whose rewards are added up before the value of the next."
    )
    frame_stack: int = Field(1, gt=0, le=16, description="Newest observations that the network gets, for images.")
    layers: int = Field(2, gt=0, le=MAX_LAYERS, description="Number of hidden layers.")
    hidden: int = Field(128, gt=0, le=MAX_HIDDEN, description="Width of the fully connected layers.")
    save_replay: bool = Field(
        default=False, description="Save the replay in checkpoints, so that a resumed run equals an uninterrupted one."
    )
    threads: int = Field(
        1,
        ge=0,
        le=MAX_PROCESSES,
        description="CPU threads of PyTorch. 0 is one per usable core.",
        json_schema_extra={"names": "processes"},
    )

    @property
    def priorities(self) -> tuple[float, float] | None:
        """Alpha and epsilon of a replay that draws by priority; None if it draws uniformly."""
        return None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.learning_starts > self.replay_size:
            raise ValueError(f"learning_starts {self.learning_starts} must not exceed replay_size {self.replay_size}")
        return self
