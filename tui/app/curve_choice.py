"""Which curves the user has hidden, moved and pinned, and which have the other scale: kept beside the preferences."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...envs.files import KIB, UnreadableFile, read_json, write_whole
from ...training.telemetry.snapshot import MAX_CURVES, Name
from ..curve_options import CurveOptions
from ..preferences import path

FILE = "curves.json"
LIMIT = 5 * MAX_CURVES * KIB


class CurveChoice(BaseModel):
    """The contents of the file: names of curves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden: tuple[Name, ...] = Field((), max_length=MAX_CURVES)
    order: tuple[Name, ...] = Field((), max_length=MAX_CURVES)
    log: tuple[Name, ...] = Field((), max_length=MAX_CURVES)
    pinned: tuple[Name, ...] = Field((), max_length=MAX_CURVES)


def file() -> Path:
    """Return the path of the file, which may not exist."""
    return path().with_name(FILE)


def load(options: CurveOptions) -> CurveOptions:
    """Return options with the user's choice, if there is one.

    Raises:
        UnreadableFile: The file cannot be read, or is not such a file.
    """
    try:
        found = CurveChoice.model_validate(read_json(file(), LIMIT))
    except UnreadableFile as error:
        if error.missing:
            return options
        raise
    except ValidationError as error:
        raise UnreadableFile(file(), f"{error.errors()[0]['msg'].lower()}; remove it") from None
    return options.chosen(found.hidden, found.order, found.log, found.pinned)


def save(options: CurveOptions) -> None:
    """Keep the user's choice.

    Raises:
        OSError: It cannot be written.
    """
    chosen = {
        "hidden": sorted(options.hidden),
        "order": options.order,
        "log": sorted(options.exceptions),
        "pinned": options.pinned,
    }
    limited = {name: values[:MAX_CURVES] for name, values in chosen.items()}
    file().parent.mkdir(parents=True, exist_ok=True)
    write_whole(file(), json.dumps(limited, indent=2) + "\n")
