"""The configuration on the command line: its flags, combined with environment variables and files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from pydantic import ConfigDict, Field

from ...training.config import Config

if TYPE_CHECKING:
    from ...training.loading import Loaded

SETTING = re.compile(r"--([a-z][\w-]*\.[a-z][\w-]*)(=.*)?", re.DOTALL)
SET = "--set"

Hidden = Parameter(parse=False)
Switch = Annotated[bool, Parameter(show_default=False)]
Json = Annotated[bool, Parameter(help="Print one JSON object and nothing else on stdout.", show_default=False)]


class Flags(Config):
    """The configuration as flags."""

    model_config = ConfigDict(defer_build=True)

    settings: Annotated[dict[str, Any], Hidden] = Field(default_factory=dict)
    breakpoints: Annotated[tuple[str, ...], Parameter(name=("--break", "--breakpoints"), show_default=False)] = Field(
        (), description=Config.model_fields["breakpoints"].description
    )
    learn: Annotated[bool, Hidden] = True
    greedy: Annotated[bool, Hidden] = True
    config: Path | None = Field(
        None, description="YAML file with the configuration. Flags and PAC_... variables override it."
    )
    trust: Annotated[bool, Parameter(show_default=False)] = Field(
        False, description="Use the task that a file names even if it is not installed and runs code."
    )
    players: int | None = Field(None, ge=1, description="Short for the task parameter `players`.")
    set: Annotated[tuple[str, ...], Parameter(show_default=False)] = Field(
        (),
        description="A setting of the trainer. --ppo.learning-rate 3e-4 is short for --set ppo.learning-rate=3e-4. "
        "`pac-tui config --trainer NAME` lists all of them.",
    )

    def given(self) -> dict[str, Any]:
        """Return what the command line gave, by key."""
        plain = {key: getattr(self, key) for key in self.model_fields_set - {"config", "players", "set", "trust"}}
        if self.players is not None:
            task = str(plain.get("task", self.task))
            plain["task"] = f"{task}{',' if '=' in task else ':'}players={self.players}"
        return plain | {key: value for key, _, value in (setting.partition("=") for setting in self.set)}


AnyFlags = Annotated[Flags | None, Parameter(name="*")]


def load_flags(flags: Flags | None, **fixed: Any) -> Loaded:
    """Return the configuration that flags, variables and files give, and where each value came from.

    Args:
        flags: What the command line gave.
        **fixed: Fields that nothing overrides.
    """
    from ...training.loading import load
    from ..trust import asking

    vouch = asking(trust=flags is not None and flags.trust)
    return load(flags.given(), file=flags.config, vouch=vouch, **fixed) if flags else load(vouch=vouch, **fixed)


def load_config(flags: Flags | None, **fixed: Any) -> Config:
    """Return the configuration that `load_flags` gives."""
    return load_flags(flags, **fixed).config


def with_settings(arguments: Sequence[str]) -> list[str]:
    """Write `--ppo.clip 0.1` and `--ppo.clip=0.1` as `--set=ppo.clip=0.1`: parsing loads no trainer."""
    tokens, rest = [], list(arguments)
    while rest:
        found = SETTING.fullmatch(token := rest.pop(0))
        if found is None:
            tokens.append(token)
        else:
            follows = rest and not rest[0].startswith("--")
            value = found[2] or f"={rest.pop(0) if follows else ''}"
            tokens.append(f"{SET}={found[1]}{value}")
    return tokens
