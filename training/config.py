"""The configuration of a run: one validated object."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
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

from .checkpoint_choice import Kept
from .episode_choice import EpisodeChoice
from .limits import COUNTED, MAX_ENVS, MAX_PROCESSES, MAX_TIMEOUT

RUNS = Path("runs")
"""Default folder of the runs."""
NAME = r"^[^/\p{C}\p{Zl}\p{Zp}]*[^/.\p{C}\p{Zl}\p{Zp}][^/\p{C}\p{Zl}\p{Zp}]*$"
"""The name of a run is a folder's name: printable, without a slash, and not only dots."""
SWITCHES = (bool, bool | None)
SIZES = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
LIMITS = ("steps", "frames", "episodes", "seconds")


def _read_count(value: Any) -> Any:
    """Return the number that `500k`, `2M`, `1.5G` or `1e6` means; other values as they are."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(k|M|G|e\d{1,2})", value.strip()) if isinstance(value, str) else None
    if not found:
        return value
    number = Decimal(found[1]) * (SIZES.get(found[2]) or Decimal(f"1{found[2]}"))
    return int(number) if number == int(number) else value


Count: TypeAlias = Annotated[PositiveInt, BeforeValidator(_read_count)]
"""A whole number, as text also with a unit."""


def _split_conditions(value: Any) -> Any:
    """Split the text `a; b` of an environment variable; return other values as they are."""
    return tuple(text.strip() for text in value.split(";") if text.strip()) if isinstance(value, str) else value


def _check_record(value: str | None) -> str | None:
    """Return the value of `record`, if it names a choice of episodes or none is set."""
    if value:
        try:
            EpisodeChoice.parse(value)
        except ValueError as error:
            raise PydanticCustomError("record", "{text}", {"text": str(error)}) from None
    return value


def _check_keep(value: str) -> str:
    """Return the value of `keep`, if it names checkpoints."""
    try:
        Kept.parse(value)
    except ValueError as error:
        raise PydanticCustomError("keep", "{text}", {"text": str(error)}) from None
    return value


class StrictModel(BaseModel):
    """Immutable values without unknown keys, NaN or infinity; true and false are not numbers or text."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _only_switches_are_bool(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation not in SWITCHES:
            raise PydanticCustomError("not_bool", "input should not be true or false")
        return value


class Config(StrictModel):
    """What a session trains, how and for how long."""

    task: str = Field(
        "drmario",
        description="Task name or Gymnasium environment. Parameters follow a colon.",
        json_schema_extra={"names": "task"},
    )
    wrap: Annotated[tuple[str, ...], BeforeValidator(_split_conditions)] = Field(
        (),
        description="Wrapper of a Gymnasium environment: NAME or NAME:key=value,... of Gymnasium, a preset (atari, "
        "minigrid, vizdoom, none), or module:Class. Can be repeated, innermost first. Default: atari for ALE/..., "
        "minigrid for MiniGrid-... and BabyAI-..., vizdoom for Vizdoom...",
        json_schema_extra={"names": "wrappers"},
    )
    trainer: str | None = Field(
        None,
        description="Algorithm: ppo, dqn, iqn, sac, independent, mccfr, random or one of an installed package. "
        "Default: the task's trainer, which is mccfr for poker and usually ppo otherwise.",
        json_schema_extra={"names": "installed"},
    )
    num_envs: int | None = Field(
        None,
        ge=1,
        le=MAX_ENVS,
        description="Number of environments. Default: 4 per core, at least 8; 8,192 with --backend device --device "
        "cuda. Poker solver: workers, 1 per core.",
    )
    backend: str = Field(
        "shm",
        description="How environments are stepped: shm, threads, device, inline, socket, http, ray or a package's.",
        json_schema_extra={"names": "installed"},
    )
    ray_address: str = Field(
        "auto",
        description="Address of the Ray cluster for the ray backend, such as HOST:6379. auto: the local cluster.",
        json_schema_extra={"names": "server"},
    )
    workers: PositiveInt | None = Field(
        None,
        le=MAX_PROCESSES,
        description="Number of worker processes or threads. Default: 1 per usable core.",
        json_schema_extra={"names": "processes"},
    )
    device: str = Field(
        "auto",
        description="Device of the policy: auto, cpu, cuda, cuda:K or mps.",
        json_schema_extra={"names": "nothing"},
    )
    seed: int = Field(0, ge=0, le=2**63 - 1, description="Random seed.")
    steps: Count | None = Field(
        None, description="Stop after this many environment steps: `2000000`, `2M` or `2e6`.", json_schema_extra=COUNTED
    )
    frames: Count | None = Field(
        None,
        description="Stop after this many frames, or iterations of a poker solver.",
        json_schema_extra=COUNTED,
    )
    episodes: Count | None = Field(None, description="Stop after this many episodes.", json_schema_extra=COUNTED)
    seconds: PositiveFloat | None = Field(
        None,
        description="Stop after this many seconds of training since the start or the resume.",
        json_schema_extra=COUNTED,
    )
    until: str | None = Field(
        None,
        min_length=1,
        description="Stop when this condition over the metrics holds at the end of an iteration: `return > 475`.",
        json_schema_extra={"names": "nothing"},
    )
    runs_dir: Path = Field(RUNS, description="Folder that contains the runs.", json_schema_extra={"names": "folder"})
    name: str | None = Field(
        None,
        pattern=NAME,
        description="Name of the run. Default: task, trainer and time.",
        json_schema_extra={
            "names": "nothing",
            "expected": "the name of a folder, without a slash or unprintable characters",
        },
    )
    resume: str | None = Field(
        None,
        min_length=1,
        description="Continue this run. Name or folder of the run, or `latest`.",
        json_schema_extra={"names": "folder", "expected": "the name or folder of a run"},
    )
    strict: bool = Field(False, description="Fail instead of falling back to another backend or fewer environments.")
    linger: NonNegativeFloat = Field(
        60.0,
        description="Seconds that a session continues without a viewer. No limit with --headless.",
        json_schema_extra=COUNTED,
    )
    checkpoint_every: NonNegativeFloat = Field(
        300.0,
        description="Seconds of training between checkpoints. 0 saves only at the end.",
        json_schema_extra=COUNTED,
    )
    keep: Annotated[str, AfterValidator(_check_keep)] = Field(
        "last",
        description="Checkpoints to keep besides the last three: the best one (best), and one in NUMBER "
        "(every:NUMBER), such as best,every:20.",
        json_schema_extra={"names": "nothing", "expected": "last, best or every:NUMBER, such as best,every:20"},
    )
    checkpoint: str = Field(
        "last",
        pattern=r"^(last|best|\d{1,18})$",
        description="Checkpoint of the run to continue or to play: last, best or its number of steps.",
        json_schema_extra={"names": "nothing", "expected": "last, best or a number of steps"},
    )
    hang_timeout: PositiveFloat = Field(
        10.0,
        le=MAX_TIMEOUT,
        description="Seconds without a heartbeat after which a worker is replaced. Set it above the longest step.",
    )
    stop_timeout: PositiveFloat = Field(
        30.0,
        le=MAX_TIMEOUT,
        description="Seconds without progress after which a stopping session is killed.",
    )
    eval_every: PositiveInt | None = Field(
        None,
        description="Iterations between evaluations. They run in the background, with the most likely actions.",
        json_schema_extra=COUNTED,
    )
    eval_episodes: PositiveInt = Field(20, le=1_000_000, description="Number of episodes of an evaluation.")
    record: Annotated[str | None, AfterValidator(_check_record)] = Field(
        None,
        description="Record the best or worst episode so far (best, worst), or one in NUMBER (every:NUMBER).",
        json_schema_extra={"names": "nothing", "expected": "best, worst or every:NUMBER"},
    )
    video: bool = Field(
        False, description="Make a film (MP4) of each recorded episode, in a process of its own. Requires [video]."
    )
    baseline: bool | None = Field(
        None,
        description="Measure the fps of one environment first. Default: the app measures it beside the training, or "
        "remembers it; false: neither.",
    )
    breakpoints: Annotated[tuple[str, ...], BeforeValidator(_split_conditions)] = Field(
        (),
        description="Pause when this condition holds, for example `any: nan(obs)`. Can be repeated.",
        json_schema_extra={"names": "nothing"},
    )
    alarm_exit: bool = Field(
        False, description="Save a checkpoint and exit with code 1 at the first warning or fault of the diagnosis."
    )
    on_finding: str | None = Field(
        None,
        description="Shell command that runs for each warning and fault of the diagnosis, with it as JSON on stdin.",
        json_schema_extra={"names": "command"},
    )
    on_end: str | None = Field(
        None,
        description="Shell command that runs when the session ends, with the run as JSON on stdin.",
        json_schema_extra={"names": "command"},
    )
    check_sync: bool = Field(False, description="Report trainer code that waits for the device between two steps.")
    device_sync: bool = Field(
        False, description="Compare every step of the device backend with the rules on the CPU, and report the cost."
    )
    learn: bool = Field(True, description="Learn. If false, the policy of --resume acts, and nothing is saved.")
    greedy: bool = Field(True, description="Without learning, take the most likely action instead of sampling.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Settings of the trainer.")

    @property
    def spec(self) -> str:
        """The task in its wrappers."""
        from ..envs.specs import with_wrappers  # loads NumPy

        return with_wrappers(self.task, self.wrap)

    def used_up(self, counts: Mapping[str, int], seconds: float) -> float:
        """Return the largest used share of the run's limits; NaN if there is no limit.

        Args:
            counts: The `steps`, `frames` and `episodes` so far.
            seconds: Seconds of training since the start or the resume.
        """
        used = {**counts, "seconds": seconds}
        shares = (used[name] / limit for name in LIMITS if (limit := getattr(self, name)))
        return max(shares, default=math.nan)
