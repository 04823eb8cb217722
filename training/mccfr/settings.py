"""The settings of the solver."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..settings import TrainerSettings

SAMPLED = ("external", "outcome")


class Settings(TrainerSettings):
    """Settings of counterfactual regret minimisation, in the papers' names; they hold for any number of workers."""

    method: Literal["external", "outcome", "cfr", "cfr+", "dcfr", "lcfr"] = Field(
        "external", description="sampling, or exact iterations over the whole tree, which small games alone allow"
    )
    weighting: Literal["vanilla", "linear", "discounted"] = Field(
        "vanilla", description="how iterations count that are sampled: all alike, later ones more, or earlier ones less"
    )
    discount_interval: int = Field(10_000, gt=0, description="iterations between two discounts, if discounted")
    batch: int = Field(
        0,
        ge=0,
        description="iterations that a worker makes at once, for runs that are to be repeated; 0: 30 ms of them",
    )

    @property
    def sampled(self) -> bool:
        """Whether deals are sampled, so that workers can share the work."""
        return self.method in SAMPLED
