"""`run.json`, the metadata of a run: its configuration, its progress, its state and a checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ...envs import PacError
from ...envs.entries import Place, entry_of
from ...envs.files import MIB, UnreadableFile, read_json, write_whole
from ..json_data import jsonable


class RunFolderError(PacError):
    """A run folder, or a file in it, cannot be made, read or written."""

    title = "Run folder"


FILE = "run.json"
CHECKSUM = "sha256"
LIMIT = 4 * MIB
COUNTS = ("num_envs", "steps", "frames", "episodes")
TIMES = ("started", "written")
TEXTS = ("id", "task", "trainer", "state")
END_OF_TIME = 2.5e11  # s since the epoch; `datetime` has no years after 9999
ADVICE = "remove the run or restore the file"


def read(folder: Place) -> dict[str, Any]:
    """Return a run's metadata.

    Raises:
        RunFolderError: The file is missing, cannot be read, was changed, or is not the metadata of a run.
    """
    path = entry_of(folder) / FILE
    try:
        metadata = read_json(path, LIMIT)
    except UnreadableFile as error:
        if error.missing:
            run = path.path.parent.name
            raise RunFolderError(
                f"{path} is missing: the session was killed before it wrote it; `pac-tui runs rm {run}` removes the run"
            ) from error
        raise RunFolderError(f"{path} cannot be read ({error.reason}): {ADVICE}") from error
    if not isinstance(metadata, dict):
        raise RunFolderError(f"{path} is not the metadata of a run, since it contains no JSON object: {ADVICE}")
    expected = metadata.pop(CHECKSUM, None)
    if expected is not None and expected != _checksum(metadata):
        raise RunFolderError(
            f"{path} does not match its checksum: {ADVICE}, or delete its {CHECKSUM} to accept the change"
        )
    if wrong := _misfit(metadata):
        raise RunFolderError(f"{path} is not the metadata of a run, since its {wrong} is not valid: {ADVICE}")
    return metadata


def write(folder: Place, metadata: Mapping[str, Any]) -> None:
    """Write a run's metadata, whole or not at all; a number that is NaN or infinite is null there.

    Raises:
        OSError: It cannot be written.
    """
    facts = json.loads(json.dumps(jsonable(metadata), default=str))  # as it will be read
    write_whole(entry_of(folder) / FILE, json.dumps({**facts, CHECKSUM: _checksum(facts)}, indent=2) + "\n")


def _checksum(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON data, independent of its formatting."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _misfit(metadata: Mapping[str, Any]) -> str | None:
    """Return the first key whose value is not valid; None if all are."""
    config = metadata.get("config", {})
    if not isinstance(config, dict) or not isinstance(config.get("settings", {}), dict):
        return "config"
    for name in TEXTS:
        if not isinstance(metadata.get(name, ""), str):
            return name
    for name in COUNTS:
        if not isinstance(value := metadata.get(name, 0), int) or not 0 <= value < 2**63:
            return name
    for name in TIMES:
        if not isinstance(value := metadata.get(name, 0), int | float) or not 0 <= value < END_OF_TIME:
            return name
    return None
