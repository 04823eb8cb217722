"""The errors of tasks and their parameters.

PacError                an error that is the user's to mend: its text says how
├── BadParameter        a value that does not fit
│   └── UnknownName     a name that is none of the known ones
├── EnvironmentFailed   an environment raised an exception
├── IllegalAction       an action that is out of range or that the mask forbids
└── ImpossibleState     a state from outside that the game cannot be in
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import Repr
from typing import Any

from .printable import LINES, printable

MOST_NAMES = 30
"""As many known names are listed."""


_brief = Repr()
_brief.maxstring = _brief.maxother = 200


def brief(value: Any) -> str:
    """Return the `repr` of a value from elsewhere, cut short; quick however much is nested in it."""
    return _brief.repr(value)


class PacError(Exception):
    """An error with a title and a sentence that says what was expected, what came and what to do."""

    title = "Error"

    def __str__(self) -> str:
        return printable(super().__str__(), LINES)


class BadParameter(PacError, ValueError):
    """A value that does not fit."""

    title = "Bad value"


class UnknownName(BadParameter):
    """A name that is none of the known ones; the message lists them, nearest first."""

    title = "Unknown name"

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        listed = ", ".join([*near, *(other for other in names if other not in near)][:MOST_NAMES])
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        guess = f"Did you mean {near[0]}? " if near else ""
        told = f". {guess}Known: {listed}{more}." if names else ": there is none"
        super().__init__(f"unknown {what} {name!r}{told}")


class EnvironmentFailed(PacError):
    """An environment raised an exception; the cause is the original one.

    Attributes:
        environment: Its number.
        action: The action it was given, or None at a reset.
    """

    title = "An environment failed"

    def __init__(self, text: str, environment: int, action: int | list[float] | None) -> None:
        super().__init__(text)
        self.environment = environment
        self.action = action


class IllegalAction(PacError, ValueError):
    """An action that is out of range or that the mask forbids; no environment was stepped."""

    title = "Illegal action"


class ImpossibleState(PacError, ValueError):
    """A state from outside that the game cannot be in; no environment goes on from it."""

    title = "Impossible state"
