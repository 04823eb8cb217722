"""The settings of DQN and IQN."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ..limits import COUNTED, MAX_CHANNELS, MAX_HIDDEN, MAX_LAYERS, MAX_MINIBATCH, MAX_PROCESSES
from ..settings import Schedule, TrainerSettings


class QLearningSettings(TrainerSettings):
    """Settings of DQN and IQN, named as in the papers. All counts are decisions of all environments."""

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
    target_update: int = Field(
        500, gt=0, description="Decisions between updates of the target network.", json_schema_extra=COUNTED
    )
    tau: float = Field(
        1.0, gt=0, le=1, description="Share of the weights that an update copies to the target network; 1 is a copy."
    )
    epsilon: Schedule = Field(
        ((0, 1.0), (20_000, 0.05)), description="Probability of a random action, or a schedule over decisions."
    )
    n_step: int = Field(
        1, gt=0, le=64, description="Decisions whose rewards are added up before the value of the next."
    )
    prioritized: bool = Field(
        default=False, description="Draw transitions with large errors more often (prioritized replay)."
    )
    priority_alpha: float = Field(
        0.6, ge=0, description="With prioritized: how much errors matter; 0 is uniform sampling (alpha)."
    )
    priority_beta: Schedule = Field(
        ((0, 0.4), (1_000_000, 1.0)),
        description="With prioritized: how much of the bias is corrected, usually a schedule over decisions (beta).",
    )
    priority_epsilon: float = Field(1e-6, gt=0, description="With prioritized: added to each error (epsilon).")
    double: bool = Field(default=True, description="Choose the next action by the online network (double DQN).")
    dueling: bool = Field(default=False, description="Add up the value and the advantages of the actions (dueling).")
    max_grad_norm: float = Field(10.0, gt=0, description="Maximum norm of the gradient.")
    frame_stack: int = Field(1, gt=0, le=16, description="Newest observations that the network gets, for images.")
    layers: int = Field(2, gt=0, le=MAX_LAYERS, description="Number of hidden layers.")
    hidden: int = Field(128, gt=0, le=MAX_HIDDEN, description="Width of the fully connected layers.")
    channels: int = Field(
        64,
        ge=0,
        le=MAX_CHANNELS,
        description="Channels of the convolutional layers for small boards; 0 for fully connected ones alone.",
    )
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

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.learning_starts > self.replay_size:
            raise ValueError(f"learning_starts {self.learning_starts} must not exceed replay_size {self.replay_size}")
        return self


class DqnSettings(QLearningSettings):
    """Settings of DQN."""

    huber_loss: bool = Field(default=True, description="Use the Huber loss, linear above an error of 1.")


class IqnSettings(QLearningSettings):
    """Settings of IQN: those of DQN, and those of its quantiles (Dabney et al., 2018)."""

    double: bool = Field(default=False, description="Choose the next action by the online network (double DQN).")
    fractions: int = Field(8, gt=0, le=256, description="Fractions per transition whose quantiles learn (N).")
    target_fractions: int = Field(
        8, gt=0, le=256, description="Fractions per transition whose quantiles are the target (N')."
    )
    policy_fractions: int = Field(
        32, gt=0, le=256, description="Fractions whose mean quantile is the value of an action (K)."
    )
    cosines: int = Field(64, gt=0, le=1024, description="Cosines that embed a fraction (n).")
    kappa: float = Field(1.0, gt=0, description="Error above which the quantile Huber loss is linear.")
    cvar: float = Field(
        1.0, gt=0, le=1, description="Act by the mean of this share of the worst returns; below 1 is risk-averse."
    )
