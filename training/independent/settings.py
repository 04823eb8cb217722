"""The settings of independent learners."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..dqn.settings import DqnSettings, IqnSettings, QLearningSettings
from ..limits import COUNTED


class IndependentSettings(IqnSettings, DqnSettings):
    """Settings of independent learners: those of their algorithm, which hold for each agent, and some of their own."""

    LIVE: ClassVar[frozenset[str]] = frozenset()  # learners in processes have settings of their own

    algorithm: Literal["dqn", "iqn"] = Field("dqn", description="What each agent learns by: dqn or iqn.")
    double: bool = Field(default=True, description="Choose the next action by the online network (double DQN).")
    sync_interval: int = Field(
        10,
        gt=0,
        description="Steps after which the actor takes new weights, if there are any.",
        json_schema_extra=COUNTED,
    )
    publish_interval: int = Field(
        16,
        gt=0,
        description="Gradient steps after which a learner publishes its weights.",
        json_schema_extra=COUNTED,
    )
    max_behind: int = Field(
        64,
        ge=0,
        description="Gradient steps that a learner may be behind before the actor waits; 0 is lockstep.",
        json_schema_extra=COUNTED,
    )
    processes: bool = Field(
        default=True, description="Run each learner in a process of its own; false is the sequential reference."
    )

    @property
    def own(self) -> QLearningSettings:
        kind = DqnSettings if self.algorithm == "dqn" else IqnSettings
        return kind.model_validate(self.model_dump(include=set(kind.model_fields)))
