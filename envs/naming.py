"""What the text of an option names, which is declared with the option; `trust.py` checks by it what a file sets."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from types import EllipsisType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

NUMBERS = (bool, int, float, type(None), EllipsisType, ...)


class Names(Enum):
    """What the text of an option names."""

    NOTHING = "nothing"
    INSTALLED = "installed"
    """A part of this program or of an installed package, which its installer has trusted."""
    FOLDER = "folder"
    FILE = "file"
    SERVER = "server"
    PROCESSES = "processes"
    """A number of processes or threads, which a file may set up to `PER_CORE` times the number of cores."""
    TASK = "task"
    WRAPPERS = "wrappers"
    COMMAND = "command"
    ANYTHING = "anything"

    def doubt(self, value: Any) -> str:
        """Return why a file needs trust to set the option to `value`; empty if it does not."""
        harmless = (self is Names.FOLDER and _is_below(str(value))) or (self is Names.PROCESSES and _are_few(value))
        return "" if harmless else REASONS[self]


PER_CORE = 8
REASONS = {
    Names.NOTHING: "",
    Names.INSTALLED: "",
    Names.FOLDER: "a folder outside of the current one, which would be read and written",
    Names.FILE: "a file that would be opened",
    Names.SERVER: "a server: what it answers can run any code",
    Names.PROCESSES: f"more than {PER_CORE} processes or threads per core",
    Names.TASK: "which is neither built in nor registered: using it can run any code",
    Names.WRAPPERS: "with code of a module, or text that may name a file: using it can run any code",
    Names.COMMAND: "a command, which can do anything",
    Names.ANYTHING: "an option that does not declare what it names, which may be code, a server or a file",
}
"""Why a file needs trust, as part of a sentence; empty if it does not."""


def declared(annotation: Any, extra: Any = None) -> Names:
    """Return what an option names: what it declares, or `ANYTHING` if it can hold text and declares nothing.

    Args:
        annotation: Its type.
        extra: Its `json_schema_extra`, such as `{"names": "server"}`.

    Raises:
        ValueError: The declaration is not one of `Names`.
    """
    if isinstance(extra, dict) and "names" in extra:
        return Names(extra["names"])
    return Names.ANYTHING if _holds_text(annotation) else Names.NOTHING


def _holds_text(annotation: Any) -> bool:
    kind, parts = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return _holds_text(parts[0])
    if kind in {Union, UnionType, tuple, list, set, frozenset, dict}:
        return any(map(_holds_text, parts))
    return kind is not Literal and annotation not in NUMBERS


def _are_few(value: Any) -> bool:
    try:
        return float(value) <= PER_CORE * max(os.cpu_count() or 1, 2)
    except (TypeError, ValueError, OverflowError):
        return True  # no number, which is refused


def _is_below(path: str) -> bool:
    try:
        return Path(path).resolve().is_relative_to(Path.cwd())
    except (OSError, RuntimeError, ValueError):  # links in a circle, or a zero byte
        return False
