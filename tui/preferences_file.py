"""Changes values in the preferences file, and leaves its comments and everything else in it as they are."""

from __future__ import annotations

import json
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..envs.files import read_text, write_whole
from .preferences import LIMIT, BadPreferences, InUse, Preferences, path, preferences, read

Changes: TypeAlias = Mapping[tuple[str, str], Any]
"""Values by section and key; None removes a key. The keys before the first section are in the section of no name."""

HEADER = re.compile(r"\s*\[")
VALUE = r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#]+)"""


def keep() -> Path:
    """Write what was changed since the preferences were read, or last kept, into the file; return the file.

    Raises:
        BadParameter: See `save`.
    """
    file, now = path(), preferences()
    save(file, changes_between(InUse.kept or Preferences(), now))
    InUse.kept = now
    return file


def changes_between(before: Preferences, after: Preferences) -> Changes:
    """Return what must be changed in a file with the preferences `before` so that it has those of `after`."""
    old, new = _leaves(before), _leaves(after)
    return {name: new.get(name) for name in {**old, **new} if new.get(name) != old.get(name)}


def save(file: Path, changes: Changes) -> None:
    """Change values in a preferences file, which may not exist yet. A file that is a link stays one.

    Raises:
        BadParameter: The file has an error, cannot be edited or cannot be written. It is unchanged then.
    """
    read(file)  # an error in it is reported, and not lost
    text = read_text(file, LIMIT) if file.exists() else ""
    try:
        target = file.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        write_whole(target, edited(text, changes, file), mode)
    except OSError as error:
        raise BadPreferences(f"{error.filename} cannot be written: {error.strerror}") from None


def edited(text: str, changes: Changes, file: Path) -> str:
    """Return the text of a preferences file with some values changed.

    Raises:
        BadPreferences: It is written in a way that cannot be edited line by line.
    """
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    for (section, key), value in changes.items():
        _change(lines, section, key, value)
    found = "".join(lines)
    try:
        done = tomllib.loads(found) == _expected(tomllib.loads(text), changes)
    except tomllib.TOMLDecodeError:
        done = False
    if not done:
        wanted = ", ".join(f"{'.'.join(filter(None, name))} = {_spelled(value)}" for name, value in changes.items())
        raise BadPreferences(f"{file} cannot be edited from here; change it yourself: {wanted}")
    return found


def _leaves(preferences: Preferences) -> dict[tuple[str, str], Any]:
    """Return all values by section and key."""
    found: dict[tuple[str, str], Any] = {}
    for name, value in preferences.model_dump().items():
        found |= {(name, key): part for key, part in value.items()} if isinstance(value, dict) else {("", name): value}
    return found


def _expected(data: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """Return the content that the file must have afterwards."""
    for (section, key), value in changes.items():
        if value is None:
            data.get(section, {}).pop(key, None)
        else:
            (data.setdefault(section, {}) if section else data)[key] = value
    return data


def _change(lines: list[str], section: str, key: str, value: Any) -> None:
    """Change, add or remove one line."""
    begin, end = _range(lines, section)
    names = "|".join(re.escape(name) for name in (json.dumps(key), f"'{key}'", *([] if "." in key else [key])))
    line = re.compile(rf"(\s*(?:{names})\s*=\s*){VALUE}")
    at = next((at for at in range(begin, end) if line.match(lines[at])), None)
    if at is not None and value is None:
        del lines[at]
    elif at is not None:
        lines[at] = line.sub(lambda found: found[1] + _spelled(value), lines[at], count=1)
    elif value is not None:
        if not begin and section:
            lines += [*(["\n"] if lines else []), f"[{section}]\n"]
            end = len(lines)
        used = [at for at in range(begin, end) if lines[at].strip() and not lines[at].lstrip().startswith("#")]
        end = used[-1] + 1 if used else begin or end
        name = key if key.isidentifier() else json.dumps(key)
        lines.insert(end, f"{name} = {_spelled(value)}\n")


def _range(lines: list[str], section: str) -> tuple[int, int]:
    """Return where the lines of a section begin and end; a section that is missing begins at 0."""
    heads = [at for at, line in enumerate(lines) if HEADER.match(line)]
    if not section:
        return 0, heads[0] if heads else len(lines)
    named = re.compile(rf"\s*\[\s*{section}\s*\]")
    begin = next((at + 1 for at in heads if named.match(lines[at])), 0)
    return begin, next((at for at in heads if at >= begin), len(lines)) if begin else len(lines)


def _spelled(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "(removed)" if value is None else json.dumps(value, ensure_ascii=False)
