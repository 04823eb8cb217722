"""The configuration on the command line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from pydantic import ConfigDict, Field

from ...training.config import Config

if TYPE_CHECKING:
    from ...training.loading import Loaded

SETTING = re.compile(r"--([a-z][\w-]*\.[a-z][\w-]*)(=.*)?", re.DOTALL)
SET, BASELINE = "--set", "--baseline"
BEFORE_SCRIPT = ("--python", "-m", "--module")
"""Options of `pac-tui watch` that have a value."""

Hidden = Parameter(parse=False)
Json = Annotated[bool, Parameter(help="Print one JSON object and nothing else on stdout.")]


def _default_text(value: object) -> str | None:
    """Return the default of an option for its help; None for a switch, and where nothing is the default."""
    return None if value is None or value is False or value == () else str(value)


OPTIONS = Parameter(negative=(), show_default=_default_text)
"""How all options are parsed, and described in the help."""


class Flags(Config):
    """The flags of commands that take a configuration."""

    model_config = ConfigDict(defer_build=True)

    settings: Annotated[dict[str, Any], Hidden] = Field(default_factory=dict)
    breakpoints: Annotated[tuple[str, ...], Parameter(name=("--break", "--breakpoints"))] = Field(
        (), description=Config.model_fields["breakpoints"].description
    )
    learn: Annotated[bool, Hidden] = True
    greedy: Annotated[bool, Hidden] = True
    config: Path | None = Field(
        None, description="YAML file with the configuration. Flags and PAC_... variables override it."
    )
    trust: bool = Field(False, description="Use the tasks, servers and files that a file names, even if they run code.")
    players: int | None = Field(None, ge=1, description="Short for the task parameter `players`.")
    set: tuple[str, ...] = Field(
        (),
        description="A setting of the trainer. --ppo.learning-rate 3e-4 is short for --set ppo.learning-rate=3e-4. "
        "`pac-tui config --trainer NAME` lists all of them.",
    )

    def given(self) -> dict[str, Any]:
        """Return the values from the command line by key."""
        values = {key: getattr(self, key) for key in self.model_fields_set - {"config", "players", "set", "trust"}}
        if self.players is not None:
            task = str(values.get("task", self.task))
            values["task"] = f"{task}{',' if '=' in task else ':'}players={self.players}"
        return values | {key: value for key, _, value in (setting.partition("=") for setting in self.set)}


OptionalFlags = Annotated[Flags | None, Parameter(name="*")]


def load_flags(flags: Flags | None, **fixed: Any) -> Loaded:
    """Return the configuration from all sources, and the source of each value.

    Args:
        flags: The flags; None if there are none.
        **fixed: Values that no source can override.
    """
    from ...training.loading import load
    from ..trust import asking

    flags = flags or Flags()
    return load(flags.given(), file=flags.config, vouch=asking(trust=flags.trust), **fixed)


def load_config(flags: Flags | None, **fixed: Any) -> Config:
    """Return the configuration from all sources; see `load_flags`."""
    return load_flags(flags, **fixed).config


def with_settings(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with `--ppo.clip 0.1` as `--set=ppo.clip=0.1`, and `--baseline false` as `--baseline=false`.

    With this, the command line is parsed without importing a trainer.
    """
    tokens, rest = [], list(arguments)
    while rest:
        found = SETTING.fullmatch(token := rest.pop(0))
        if token == BASELINE and rest and rest[0] in {"true", "false"}:
            tokens.append(f"{token}={rest.pop(0)}")
        elif found is None:
            tokens.append(token)
        else:
            follows = rest and not rest[0].startswith("--")
            value = found[2] or f"={rest.pop(0) if follows else ''}"
            tokens.append(f"{SET}={found[1]}{value}")
    return tokens


def refuse_repeated_settings(tokens: Sequence[str]) -> None:
    """Check that no setting is given twice, as the parser does for other options.

    Args:
        tokens: The arguments as `with_settings` returns them.

    Raises:
        BadParameter: A setting is given more than once; the message names it.
    """
    values = [token.removeprefix(f"{SET}=") for token in tokens if token.startswith(f"{SET}=")]
    values += [value for token, value in pairwise(tokens) if token == SET]
    counts = Counter(value.partition("=")[0].replace("_", "-") for value in values)
    for name, count in counts.items():
        if count > 1:
            from ...envs import BadParameter  # loads NumPy

            raise BadParameter(f"--{name} is given more than once; give it once")


def with_script_arguments(tokens: Sequence[str]) -> list[str]:
    """Return the tokens of `pac-tui watch ...`, with `--` before the script and its arguments.

    Everything after the script or the module is passed to the script, even if it looks like an option of pac-tui.
    """
    at = 1
    while at < len(tokens) and tokens[at].startswith("-") and tokens[at] != "--":
        option, equals, _ = tokens[at].partition("=")
        at += 2 if option in BEFORE_SCRIPT and not equals else 1
        if option in {"-m", "--module"}:
            break
    rest = list(tokens[at:])
    return [*tokens[:at], *(["--"] if rest and rest[0] != "--" else []), *rest]
