"""The user's preferences: theme, characters, rates, diagnosis, keys; from `config.toml` in the configuration folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..envs import BadParameter, UnknownName
from ..envs.files import KIB, UnreadableFile, read_toml

FILE = "config.toml"
LIMIT = 256 * KIB
MAX_RATE = 60.0
MAX_LIMIT = 100.0


class BadPreferences(BadParameter):
    """The preferences file cannot be read, or a value in it is invalid."""

    title = "Bad preferences"


class Rates(BaseModel):
    """Refresh rates in Hz. The app refreshes less often if it would use more than 5 % of a core."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    environment: float = Field(30.0, gt=0, le=MAX_RATE, description="Board of one environment.")
    grid: float = Field(10.0, gt=0, le=MAX_RATE, description="Boards in the summary.")
    figures: float = Field(4.0, gt=0, le=MAX_RATE, description="Numbers and curves.")
    system: float = Field(1.0, gt=0, le=MAX_RATE, description="CPU, memory and GPU use of the session.")


class Tolerances(BaseModel):
    """How sensitive the rules of the diagnosis are in the sessions that the app shows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    environments: float = Field(1.0, ge=0, le=MAX_LIMIT, description="Rules about environments. 0 mutes.")
    learning: float = Field(1.0, ge=0, le=MAX_LIMIT, description="Rules about learning. 0 mutes.")
    speed: float = Field(1.0, ge=0, le=MAX_LIMIT, description="Rules about speed. 0 mutes.")
    muted: tuple[str, ...] = Field((), max_length=32, description="Names of rules that are muted.")


class RunLists(BaseModel):
    """What lists of runs show."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[str, ...] = Field(
        (), max_length=32, description="Names of settings and results beside the runs. None for the usual columns."
    )
    sort: str = Field("", description="Name by which `R` sorts, the highest first; -NAME: the lowest first.")


class Preferences(BaseModel):
    """Preferences of pac-tui: theme, characters, refresh rates, findings and keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", title="pac-tui preferences")

    theme: Literal["dark", "light", "colorblind"] = Field(
        "dark", description="Color theme. colorblind shows good and bad in blue and orange."
    )
    characters: Literal["auto", "unicode", "ascii"] = Field(
        "auto",
        description="auto uses ASCII on the Linux console and Unicode elsewhere.",
    )
    color: bool = Field(True, description="Use colors. The variable NO_COLOR turns them off, too.")
    pictures: Literal["auto", "kitty", "sixel", "off"] = Field(
        "auto",
        description="How boards of pixels are shown in terminals that show pictures: auto asks the terminal, off uses "
        "half blocks.",
    )
    signal: Literal["off", "bell", "desktop"] = Field(
        "off",
        description="How the app signals warnings and errors beside showing them: the bell, or a notification "
        "of the desktop (OSC 9).",
    )
    rates: Rates = Field(default_factory=Rates, description="Refresh rates in Hz.")
    findings: Tolerances = Field(
        default_factory=Tolerances,
        description="By how much less sensitive the diagnosis is than usual: 2 tolerates twice as much, 0 mutes.",
    )
    runs: RunLists = Field(default_factory=RunLists, description="Lists of runs: `R` and `pac-tui runs`.")
    keys: dict[str, str] = Field(
        default_factory=dict,
        description="Keys by command id, separated by commas. `pac-tui preferences` lists the ids.",
    )


def path() -> Path:
    """Return the path of the preferences file, which may not exist."""
    return user_config_path("pac-tui") / FILE


class InUse:
    """The preferences that the app uses, which the user can change while it runs.

    Attributes:
        now: The preferences; None before they were read.
        kept: Those of them that the file contains.
    """

    now: Preferences | None = None
    kept: Preferences | None = None


def preferences() -> Preferences:
    """Return the preferences in use: at first those of the file, which is read once.

    Raises:
        BadPreferences: The file cannot be read, or a value is invalid.
        UnknownName: A name in it is unknown.
    """
    if InUse.now is None:
        InUse.now = InUse.kept = read(path())
    return InUse.now


def use(wanted: Preferences) -> None:
    """Use other preferences from now on; the file stays as it is."""
    preferences()
    InUse.now = wanted


def are_kept() -> bool:
    """Return whether the file contains the preferences in use."""
    return preferences() == InUse.kept


def read(file: Path) -> Preferences:
    """Return the preferences in `file`, or the defaults if it does not exist."""
    try:
        data = read_toml(file, LIMIT)
    except UnreadableFile as error:
        if error.missing:
            return Preferences()
        raise BadPreferences(f"{error}; fix or remove it") from None
    try:
        return Preferences.model_validate(data)
    except ValidationError as error:
        raise _as_error(file, error.errors()[0]) from None


def _as_error(file: Path, error: Any) -> BadParameter:
    where, given = ".".join(map(str, error["loc"])), error["input"]
    if error["type"] == "extra_forbidden":
        sections: dict[str, type[BaseModel]] = {"rates": Rates, "findings": Tolerances, "runs": RunLists}
        model = sections.get(error["loc"][0], Preferences)
        return UnknownName(f"key in {file}", str(error["loc"][-1]), model.model_fields)
    return BadPreferences(f"{where} in {file}: {error['msg'].lower()}, got {given!r}")


def schema() -> dict[str, Any]:
    """Return the JSON schema of the file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Preferences.model_json_schema()}
