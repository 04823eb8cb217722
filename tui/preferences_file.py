"""Changes values in the preferences file, and leaves its comments and everything else in it as they are."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import tomlkit

from ..envs.files import read_text, write_whole
from .preferences import LIMIT, BadPreferences, InUse, Preferences, RunLists, path, preferences, read, use

Changes: TypeAlias = Mapping[tuple[str, str], Any]
"""Values by section and key; None removes a key. The keys before the first section are in the section of no name."""


def keep() -> Path:
    """Write what was changed since the preferences were read, or last kept, into the file; return the file.

    Raises:
        BadParameter: See `save`.
    """
    file, now = path(), preferences()
    save(file, changes_between(InUse.kept or Preferences(), now))
    InUse.kept = now
    return file


def keep_runs(wanted: RunLists) -> None:
    """Use other columns and another order in lists of runs, from now on and in the file; nothing else is written.

    Raises:
        BadParameter: See `save`.
    """
    save(path(), {("runs", name): value or None for name, value in wanted.model_dump(mode="json").items()})
    use(preferences().model_copy(update={"runs": wanted}))
    if InUse.kept is not None:
        InUse.kept = InUse.kept.model_copy(update={"runs": wanted})


def changes_between(before: Preferences, after: Preferences) -> Changes:
    """Return what must be changed in a file with the preferences `before` so that it has those of `after`."""
    old, new = _leaves(before), _leaves(after)
    return {name: new.get(name) for name in {**old, **new} if new.get(name) != old.get(name)}


def save(file: Path, changes: Changes) -> None:
    """Change values in a preferences file, which may not exist yet. A file that is a link stays one.

    Raises:
        BadParameter: The file has an error or cannot be written. It is unchanged then.
    """
    read(file)  # an error in it is reported, and not lost
    text = read_text(file, LIMIT) if file.exists() else ""
    try:
        target = file.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        write_whole(target, edited(text, changes), mode)
    except OSError as error:
        raise BadPreferences(f"{error.filename} cannot be written: {error.strerror}") from None


def edited(text: str, changes: Changes) -> str:
    """Return the text of a preferences file with some values changed."""
    document, first = tomlkit.parse(text), tomlkit.document()
    for (section, key), value in changes.items():
        table: Any = document.get(section) if section else document
        if value is None:
            if table is not None:
                table.pop(key, None)
            continue
        if table is None:
            document[section] = tomlkit.table()
            table = document[section]
        elif not section and key not in document:
            table = first  # at the end of the keys without a section, it would follow the comment of a section
        table[key] = int(value) if isinstance(value, float) and value.is_integer() else value
    found, new = tomlkit.dumps(document), tomlkit.dumps(first)
    schema, rest = found.split("\n", 1) if found.startswith("#:schema") and "\n" in found else ("", found)
    return "".join((f"{schema}\n" if schema else "", new, "\n" if new and rest.startswith("[") else "", rest))


def _leaves(preferences: Preferences) -> dict[tuple[str, str], Any]:
    """Return all values by section and key."""
    found: dict[tuple[str, str], Any] = {}
    for name, value in preferences.model_dump().items():
        found |= {(name, key): part for key, part in value.items()} if isinstance(value, dict) else {("", name): value}
    return found
