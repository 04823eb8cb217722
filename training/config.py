"""The configuration of a run: one validated object, which is what the command line sets and what a run saves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

MAX_ENVS = 1_000_000
RUNS = Path("runs")
"""Where runs are kept, unless told otherwise."""
NAME = r"^[^/\p{C}\p{Zl}\p{Zp}]*[^/.\p{C}\p{Zl}\p{Zp}][^/\p{C}\p{Zl}\p{Zp}]*$"
"""Names of folders: no slash, nothing that is not printable, and not dots alone."""
LIMITS = ("steps", "frames", "episodes", "seconds")


def _conditions(value: Any) -> Any:
    """Read `a; b`, as a variable has it; leave everything else to the type."""
    return tuple(text.strip() for text in value.split(";") if text.strip()) if isinstance(value, str) else value


class Settings(BaseModel):
    """Values that do not change, each of its field's type: `yes` is no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _of_its_type(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation is not bool:
            raise PydanticCustomError("truth", "input should be a value, and not true or false")
        return value


class Config(Settings):
    """What a session runs, with what, for how long."""

    task: str = Field(
        "drmario", description="The task: a name, or any Gymnasium environment; parameters follow a colon."
    )
    trainer: str | None = Field(
        None,
        description="The algorithm: ppo, mccfr, random or one of an installed package; default the task's: mccfr for "
        "poker, else ppo.",
    )
    num_envs: int | None = Field(
        None, ge=1, le=MAX_ENVS, description="Environments; default max(8, 4 x usable cores), for poker the cores."
    )
    backend: str = Field("shm", description="How environments are stepped: inline, threads, shm, socket or http.")
    workers: PositiveInt | None = Field(None, description="Worker processes or threads; default the usable cores.")
    device: str = Field("auto", description="Where the policy runs: auto, cpu, cuda, cuda:K or mps.")
    seed: int = Field(0, ge=0, le=2**63 - 1, description="Seed of everything.")
    steps: PositiveInt | None = Field(None, description="Stop after this many environment steps.")
    frames: PositiveInt | None = Field(None, description="Stop after this many frames; of a solver, iterations.")
    episodes: PositiveInt | None = Field(None, description="Stop after this many episodes.")
    seconds: PositiveFloat | None = Field(
        None, description="Stop after this many seconds of training, not counting those before a resume."
    )
    runs_dir: Path = Field(RUNS, description="Where runs are kept.")
    name: str | None = Field(None, pattern=NAME, description="The run's name; default task, trainer and time.")
    resume: str | None = Field(None, min_length=1, description="Continue this run: its name, its folder, or latest.")
    strict: bool = Field(False, description="A backend that cannot run here is an error, not a fallback.")
    linger: NonNegativeFloat = Field(60.0, description="Seconds that a session without a viewer goes on.")
    checkpoint_every: NonNegativeFloat = Field(
        300.0, description="Seconds of training between two checkpoints; 0 saves only at the end."
    )
    hang_timeout: PositiveFloat = Field(
        10.0, description="Seconds without a sign of life after which a worker is replaced; more for slow environments."
    )
    stop_timeout: PositiveFloat = Field(
        30.0, description="Seconds without progress after which a session that was asked to stop is ended."
    )
    baseline: bool = Field(False, description="Measure the fps of one environment first.")
    breakpoints: Annotated[tuple[str, ...], BeforeValidator(_conditions)] = Field(
        (), description="Pause where this holds, such as `any: nan(obs)`; may be given several times."
    )
    alarm_exit: bool = Field(False, description="End with an error when an alarm rings; what was learned is saved.")
    learn: bool = Field(True, description="Learn; otherwise the trained policy of --resume plays and nothing is saved.")
    greedy: bool = Field(True, description="Without learning: take the likeliest action instead of sampling.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Settings of the trainer.")

    def used_up(self, counts: Mapping[str, int], seconds: float) -> float:
        """Return the share of the run's nearest limit that is used up, NaN without a limit.

        Args:
            counts: The `steps`, `frames` and `episodes` so far.
            seconds: Seconds of training since the start, or the resume.
        """
        used = {**counts, "seconds": seconds}
        shares = (used[name] / limit for name in LIMITS if (limit := getattr(self, name)))
        return max(shares, default=math.nan)
