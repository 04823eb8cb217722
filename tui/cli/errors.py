"""Turns errors that the user can fix into one sentence and an exit code."""

from __future__ import annotations

from typing import NamedTuple

from cyclopts import (
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)
from cyclopts import ValidationError as Refused
from pydantic import ValidationError

from ...training.exits import BAD_USAGE, FAILED


class ErrorReport(NamedTuple):
    """An error as the command line reports it.

    Attributes:
        title: The kind of error.
        text: One sentence: what was expected, what was given, what to do.
        code: The exit code.
    """

    title: str
    text: str
    code: int


def describe_error(error: Exception) -> ErrorReport:
    """Return the report of an error that the user can fix; raise any other error."""
    from ...envs import BadParameter, PacError

    if isinstance(error, PacError):
        usage = BAD_USAGE if isinstance(error, BadParameter) else FAILED
        return ErrorReport(error.title, str(error), getattr(error, "code", usage))
    if isinstance(error, Refused) and isinstance(error.__cause__, ValidationError):
        from ...training.loading import refusal

        return ErrorReport("Bad configuration", refusal(error.__cause__), BAD_USAGE)
    if isinstance(error, CycloptsError):
        return ErrorReport("Bad usage", _of_usage(error), BAD_USAGE)
    if isinstance(error, OSError):
        return ErrorReport("System error", _of_system(error), FAILED)
    raise error


def _of_system(error: OSError) -> str:
    """Return the reason and the files of an error of the operating system."""
    reason = error.strerror or str(error) or type(error).__name__
    files = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{' -> '.join(files)}: {reason}" if files else f"{reason} (no file was named)"


def _of_usage(error: CycloptsError) -> str:
    """Return which argument is unknown, superfluous, missing or repeated."""
    from ...envs import UnknownName

    command = " ".join(("pac-tui", *(error.command_chain or ())))
    commands = [name for name in error.app or () if not name.startswith("-")]
    match error:
        case UnknownCommandError() | UnusedCliTokensError() if commands and error.unused_tokens:
            if (name := error.unused_tokens[0]) in commands:
                return f"options follow the command that they belong to: `{command} {name} ... --option`"
            return str(UnknownName("command", name, commands))
        case UnusedCliTokensError():
            text = f"`{command}` does not accept {' '.join(error.unused_tokens or ())!r}"
        case UnknownOptionError():
            from ...envs.errors import nearest

            name = error.token.keyword or error.token.value
            names = [name for argument in error.argument_collection if argument.parse for name in argument.names]
            near = nearest(name, names, 1)
            text = f"unknown option {name!r}{f' (did you mean {near[0]}?)' if near else ''}"
        case MissingArgumentError() if error.argument is not None:
            wanted = error.argument.name.removeprefix("--").upper()
            text = f"{error.keyword} expects a value" if error.keyword else f"`{command}` expects {wanted}"
        case RepeatArgumentError():
            text = f"{error.token.keyword} is given more than once; give it once"
        case _:
            text = " ".join(str(error).split()).rstrip(".")
    return f"{text}; see `{command} --help`"
