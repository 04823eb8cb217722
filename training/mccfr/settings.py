"""The settings of the poker solver."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..settings import TrainerSettings

SAMPLED = ("external", "outcome")


class MccfrSettings(TrainerSettings):
    """Settings of counterfactual regret minimization, named as in the papers. None depends on the number of workers."""

    method: Literal["external", "outcome", "cfr", "cfr+", "dcfr", "lcfr"] = Field(
        "external",
        description="external and outcome sample deals. The others traverse the whole tree of a small game.",
    )
    weighting: Literal["vanilla", "linear", "discounted"] = Field(
        "vanilla",
        description="external, outcome: vanilla weights iterations equally, linear later ones more, discounted earlier "
        "ones less.",
    )
    discount_interval: int = Field(
        10_000, gt=0, le=10**12, description="Iterations between two discounts, if weighting is discounted."
    )
    batch: int = Field(
        0,
        ge=0,
        le=10**9,
        description="Iterations per batch of a worker. 0 is 30 ms of them. Set it for reproducible runs.",
    )

    @property
    def sampled(self) -> bool:
        """Whether deals are sampled, so that workers can share the work."""
        return self.method in SAMPLED
