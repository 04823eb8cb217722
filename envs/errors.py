"""The errors of tasks and their parameters.

PacError                an error that the user can fix; its text says how
├── BadParameter        a bad value
│   └── UnknownName     an unknown name
├── NoSuchEnvironment   an unknown name of an environment
├── EnvironmentFailed   an environment raised an exception
├── IllegalAction       an action that is out of range or that the mask forbids
└── ImpossibleState     a state that the game cannot be in
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from reprlib import Repr
from typing import Any

from .printable import LINES, printable

MOST_NAMES = 30
"""Limit of the known names that a message lists."""


_brief = Repr()
_brief.maxstring = _brief.maxother = 200


def brief(value: Any) -> str:
    """Return a shortened `repr` of an untrusted value, quickly even if it is large or deeply nested."""
    return _brief.repr(value)


def nearest(name: str, known: Sequence[str], most: int = 3) -> list[str]:
    """Return the known names that `name` may stand for, the best first: by their initials (`lr`), or spelled alike."""
    words = name.strip("-").replace("-", "_").rpartition(".")[2].lower()
    abbreviated = [other for other in known if len(words) > 1 and words == _initials(other)]
    spelled = {other.lstrip("-"): other for other in known}  # the dashes of options would make all of them alike
    alike = [spelled[other] for other in get_close_matches(name.lstrip("-"), spelled, n=most, cutoff=0.6)]
    return list(dict.fromkeys([*abbreviated, *alike]))[:most]


def _initials(name: str) -> str:
    return "".join(word[:1] for word in re.split(r"[-_]+", name.strip("-").rpartition(".")[2])).lower()


class PacError(Exception):
    """An error with a title and a sentence that says what was expected, what was given and what to do."""

    title = "Error"

    def __str__(self) -> str:
        return printable(super().__str__(), LINES)


class BadParameter(PacError, ValueError):
    """A bad value."""

    title = "Bad value"


class DoesNotFit(BadParameter):
    """A wrapper is for environments with other observations."""


class UnknownName(BadParameter):
    """An unknown name; the message lists the known ones, nearest first."""

    title = "Unknown name"

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = nearest(name, names)
        listed = ", ".join([*near, *(other for other in names if other not in near)][:MOST_NAMES])
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        guess = f"Did you mean {near[0]}? " if near else ""
        rest = f". {guess}Known: {listed}{more}." if names else ": there is none"
        super().__init__(f"unknown {what} {name!r}{rest}")


class NoSuchEnvironment(PacError):
    """No environment has the name; `known` are the registered ids."""

    title = "Unknown environment"

    def __init__(self, text: str, known: Iterable[str] = ()) -> None:
        self.known = tuple(known)
        super().__init__(text)


class EnvironmentFailed(PacError):
    """An environment raised an exception; the cause is the original one.

    Attributes:
        environment: The index of the environment.
        action: Its action, as numbers, lists and dicts; None at a reset.
    """

    title = "An environment failed"

    def __init__(self, text: str, environment: int, action: Any) -> None:
        super().__init__(text)
        self.environment = environment
        self.action = action


class IllegalAction(PacError, ValueError):
    """An action that is out of range or that the mask forbids; no environment was stepped."""

    title = "Illegal action"


class ImpossibleState(PacError, ValueError):
    """A restored state that the game cannot be in; no environment continues from it."""

    title = "Impossible state"
