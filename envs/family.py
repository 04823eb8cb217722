"""A family of tasks: a name, and the parameters from which a task is built."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import BadParameter
from .naming import Names
from .task import Task

WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
EXPECTED = {bool: "true or false", int: "a whole number", float: "a number"}


def literal(text: str) -> Any:
    """Return a parameter's text as a Python literal, or as a string if it is not one."""
    lowered = {"true": True, "false": False, "none": None}
    if text.lower() in lowered:
        return lowered[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # the last two for unclosed brackets
        return text


@dataclass(frozen=True)
class Parameter:
    """A parameter of a task, such as `level` in `--task drmario:level=5`.

    Attributes:
        default: Its default value; the type of the parameter is the type of the default.
        low: Smallest allowed number.
        high: Largest allowed number.
        choices: Allowed strings, if it is a string.
        help: One line.
        names: What it names, if it is a string without `choices`; a file needs trust to set it, see `Names`.
        own: Values that name no file, but something of this task.
    """

    name: str
    default: float | str | bool
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    help: str = ""
    names: Names = Names.ANYTHING
    own: tuple[str, ...] = ()

    def doubt(self, value: float | str | bool) -> str:
        """Return why a file needs trust to set this parameter to `value`; empty if it does not."""
        harmless = not isinstance(self.default, str) or self.choices or value in {self.default, *self.own}
        return "" if harmless else self.names.doubt(value)

    def parse(self, text: float | str | bool) -> float | str | bool:
        """Return `text` as this parameter's type.

        Raises:
            BadParameter: It has another type, is out of range, or is not one of the choices.
        """
        kind = type(self.default)
        try:
            value = WORDS[str(text).lower()] if kind is bool else kind(text)
        except (KeyError, ValueError):
            raise BadParameter(f"{self.name} expects {EXPECTED[kind]}, got {text!r}") from None
        if self.choices and value not in self.choices:
            raise BadParameter(f"{self.name} expects one of {', '.join(self.choices)}, got {text!r}")
        if isinstance(value, int | float) and not self.low <= value <= self.high:
            raise BadParameter(f"{self.name} expects {self.low:g} to {self.high:g}, got {text!r}")
        return value


@dataclass(frozen=True)
class TaskFamily:
    """A name and its parameters, from which a `Task` is built."""

    name: str
    title: str
    build: Callable[..., Task]
    parameters: tuple[Parameter, ...] = ()
