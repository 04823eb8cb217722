"""The settings of DQN and IQN."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..limits import COUNTED, MAX_CHANNELS
from ..replay.trainer_settings import ReplayTrainerSettings
from ..settings import Schedule


class QLearningSettings(ReplayTrainerSettings):
    """Settings of DQN and IQN, named as in the papers. All counts are decisions of all environments."""

    LIVE: ClassVar[frozenset[str]] = ReplayTrainerSettings.LIVE.union(
        ("epsilon", "target_update", "tau", "priority_beta", "max_grad_norm")
    )

    target_update: int = Field(
        500, gt=0, description="Decisions between updates of the target network.", json_schema_extra=COUNTED
    )
    tau: float = Field(
        1.0, gt=0, le=1, description="Share of the weights that an update copies to the target network; 1 is a copy."
    )
    epsilon: Schedule = Field(
        ((0, 1.0), (20_000, 0.05)), description="Probability of a random action, or a schedule over decisions."
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
    channels: int = Field(
        64,
        ge=0,
        le=MAX_CHANNELS,
        description="Channels of the convolutional layers for small boards; 0 for fully connected ones alone.",
    )

    @property
    def priorities(self) -> tuple[float, float] | None:
        return (self.priority_alpha, self.priority_epsilon) if self.prioritized else None


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
