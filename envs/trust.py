"""Guards against what a file names: another person may have written it, and using what it names can run code."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .errors import BadParameter
from .family import literal
from .naming import REASONS, Names
from .registry import families
from .specs import split_spec, split_wrappers


@dataclass(frozen=True)
class Doubt:
    """What a file names, and why that needs trust.

    Attributes:
        option: The option's name.
        value: Its value in the file.
        names: What the option names.
        reason: Why it needs trust, as part of a sentence.
    """

    option: str
    value: Any
    names: Names
    reason: str

    def __str__(self) -> str:
        return f"the {self.option} {self.value!r}, {self.reason}"

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules whose code would run; empty if it may be other code, or if something else is in doubt."""
        if self.names is Names.TASK:
            task, wrappers = split_wrappers(str(self.value))
            parts = (task, *wrappers)
        else:
            parts = wrappers_in(self.value) if self.names is Names.WRAPPERS else ()
        found = []
        for name, given in map(split_spec, parts):
            module, colon, attribute = name.partition(":")
            if any(map(_names_something, given.values())):
                return ()
            if colon:
                if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
                    return ()
                found.append(module)
        return tuple(found)


Vouch: TypeAlias = Callable[[Doubt, str], bool]
"""Called with what a file names, and the file; returns whether the user trusts it."""

NAMES_SOMETHING = re.compile(r"[:/\\]|[^\W\d]\w*\.\w")
"""Matches arguments that may name a module, a file or an address."""


class NotTrusted(BadParameter):
    """A file names a module, a file or a server, so that using it could run any code."""

    title = "Not trusted"


def refuse(_doubt: Doubt, _file: str) -> bool:
    """Trust nothing."""
    return False


def accept(_doubt: Doubt, _file: str) -> bool:
    """Trust everything."""
    return True


def doubt_about(spec: str) -> str:
    """Return why a file needs trust to name a task; empty if it does not.

    Named tasks declare what their parameters name. `module:name` and `module:Id-v0` import a module. An argument of a
    registered environment can name one, too: `GymV26Environment-v0,env_id=module:Id-v0`. Nothing is imported to find
    out.

    Raises:
        BadParameter: The parameters are not `key=value`.
    """
    name, given = split_spec(spec)
    if name in families():
        doubts = (
            f"whose {parameter.name} is {doubt}"
            for parameter in families()[name].parameters
            if (doubt := parameter.doubt(given.get(parameter.name, parameter.default)))
        )
        return next(doubts, "")
    unsure = ":" in name or any(map(_names_something, given.values()))
    return REASONS[Names.TASK] if unsure else doubt_about_wrappers(split_wrappers(spec)[1])


def doubt_about_wrappers(wrappers: Sequence[str]) -> str:
    """Return why a file needs trust to name wrappers; empty if it does not: Gymnasium's own, with numbers only.

    Raises:
        BadParameter: The arguments are not `key=value`.
    """
    for name, given in map(split_spec, wrappers):
        if not name.isidentifier() or any(_holds_text(literal(text)) for text in given.values()):
            return REASONS[Names.WRAPPERS]
    return ""


def wrappers_in(value: Any) -> tuple[str, ...]:
    """Return the wrappers that the option `wrap` names, which may be text with semicolons."""
    parts = value if isinstance(value, list | tuple) else str(value).split(";")
    return tuple(str(part).strip() for part in parts)


def _holds_text(value: Any) -> bool:
    return (
        any(map(_holds_text, value)) if isinstance(value, tuple | list) else not isinstance(value, int | float | None)
    )


def _names_something(text: str) -> bool:
    """Whether an argument may name a module, a file or an address, or there is a file or a module of that name here."""
    value = literal(text)  # two texts in a row are one in Python: the argument 'a' '.b' is a.b
    return bool(NAMES_SOMETHING.search(f"{text} {value!r}")) or any(
        os.path.lexists(f"{value}{suffix}") for suffix in ("", ".py") if isinstance(value, str)
    )


def check_trusted(option: str, value: Any, names: Names, file: str, vouch: Vouch) -> None:
    """Check that a value may be used which a file sets. Call this before anything looks at the value.

    Args:
        option: The option's name.
        value: Its value in the file.
        names: What the option names.
        vouch: Called if the value may run code, or names a file or a server.

    Raises:
        NotTrusted: The user does not trust the file.
        BadParameter: The parameters of a task are not `key=value`.
    """
    if names is Names.WRAPPERS:
        reason = doubt_about_wrappers(wrappers_in(value))
    else:
        reason = doubt_about(str(value)) if names is Names.TASK else names.doubt(value)
    if reason and not vouch(doubt := Doubt(option, value, names, reason), file):
        raise NotTrusted(f"{file} names {doubt}. Add --trust if you trust whoever wrote that file")
