"""Checks of messages, data from other processes and other machines, against annotations of functions and dataclasses.

The watched script's interpreter may have no package except NumPy, so this uses no library.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

Arguments: TypeAlias = tuple[Any, ...]
NOUNS = {int: "a valid integer", float: "a valid number", str: "a valid string", bool: "a valid boolean"}


class InvalidValue(ValueError):
    """A value does not fit its annotation.

    Attributes:
        name: What the value is called.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.name = ""


@dataclass(frozen=True)
class Bounds:
    """The range of a number: from `ge` to `le`, or below `lt`."""

    ge: float | None = None
    le: float | None = None
    lt: float | None = None

    def check(self, value: Any) -> None:
        """Raise `InvalidValue` if a number is outside; NaN is."""
        if self.ge is not None and not value >= self.ge:
            raise InvalidValue(f"input should be greater than or equal to {self.ge}")
        if self.le is not None and not value <= self.le:
            raise InvalidValue(f"input should be less than or equal to {self.le}")
        if self.lt is not None and not value < self.lt:
            raise InvalidValue(f"input should be less than {self.lt}")


@dataclass(frozen=True)
class Length:
    """The number of characters or of items."""

    least: int = 0
    most: int | None = None

    def check(self, value: Any) -> None:
        """Raise `InvalidValue` if a text or a list is too short or too long."""
        if len(value) < self.least:
            raise InvalidValue(f"input should have at least {self.least} items")
        if self.most is not None and len(value) > self.most:
            raise InvalidValue(f"input should have at most {self.most} items or characters")


def checked(value: Any, annotation: Any) -> Any:
    """Return a value that fits an annotation; a list as a tuple and a mapping as a dataclass, if these are annotated.

    Annotations are `int`, `float`, `str`, `bool`, `None`, `Any`, lists, tuples, mappings, dataclasses, literals,
    unions, and `Annotated` with `Bounds` and `Length`. Nothing else is converted, except that a float may be given as
    an integer.

    Raises:
        InvalidValue: It does not fit.
    """
    check = CHECKS.get(get_origin(annotation))
    return _checked_plain(value, annotation) if check is None else check(value, get_args(annotation))


def _checked_plain(value: Any, annotation: Any) -> Any:
    if annotation is Any:
        return value
    if is_dataclass(annotation):
        kind: Any = annotation
        return kind(**checked_arguments(kind, _mapping(value)))
    if annotation in {None, type(None)}:
        if value is not None:
            raise InvalidValue("input should be null")
        return None
    accepted: Any = (int, float) if annotation is float else annotation
    if not isinstance(value, accepted) or (isinstance(value, bool) and annotation is not bool):
        raise InvalidValue(f"input should be {NOUNS[annotation]}")
    if annotation is str and not _is_unicode(value):
        raise InvalidValue(f"input should be {NOUNS[str]}")
    return value


def _is_unicode(text: str) -> bool:
    """Whether a text can be written: JSON may contain halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidValue("input should be an object")
    return value


def _checked_annotated(value: Any, arguments: Arguments) -> Any:
    base, *rules = arguments
    value = checked(value, base)
    for rule in rules:
        rule.check(value)
    return value


def _checked_union(value: Any, options: Arguments) -> Any:
    """Return a value that fits one of several annotations; the error is the one of the first."""
    error = None
    for option in options:
        try:
            return checked(value, option)
        except InvalidValue as other:
            error = error or other
    raise error or InvalidValue("no value fits")


def _checked_list(value: Any, arguments: Arguments) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidValue("input should be a valid list")
    return [checked(part, arguments[0]) for part in value]


def _checked_tuple(value: Any, arguments: Arguments) -> tuple[Any, ...]:
    if ... in arguments:
        return tuple(_checked_list(value, arguments))
    if not isinstance(value, list | tuple) or len(value) != len(arguments):
        raise InvalidValue(f"input should be a list of {len(arguments)} items")
    return tuple(map(checked, value, arguments))


def _checked_mapping(value: Any, arguments: Arguments) -> dict[str, Any]:
    return {checked(key, arguments[0]): checked(part, arguments[1]) for key, part in _mapping(value).items()}


def _checked_literal(value: Any, choices: Arguments) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise InvalidValue(f"input should be one of {', '.join(choices)}")
    return value


CHECKS: Mapping[Any, Callable[[Any, Arguments], Any]] = {
    Annotated: _checked_annotated,
    Union: _checked_union,
    types.UnionType: _checked_union,
    list: _checked_list,
    tuple: _checked_tuple,
    Mapping: _checked_mapping,
    Literal: _checked_literal,
}


@cache
def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    return get_type_hints(function, include_extras=True)


@cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def checked_arguments(function: Callable[..., Any], given: Mapping[str, Any], *, skip: int = 0) -> dict[str, Any]:
    """Return keyword arguments that fit the annotations of a function or of a dataclass.

    Args:
        skip: Number of its first parameters, which the caller passes by position.

    Raises:
        InvalidValue: One is missing, unexpected or does not fit.
    """
    named = {
        name: item for name, item in list(_parameters(function).items())[skip:] if item.kind is not item.VAR_KEYWORD
    }
    free = any(item.kind is item.VAR_KEYWORD for item in _parameters(function).values())
    hints, found = _hints(function), {}
    for name, value in given.items():
        if name not in named and not free:
            raise _of(name, InvalidValue("unexpected keyword argument"))
        try:
            found[name] = checked(value, hints[name]) if name in named else value
        except InvalidValue as error:
            raise _of(name, error) from None
    for name, item in named.items():
        if name not in found and item.default is item.empty:
            raise _of(name, InvalidValue("field required"))
    return found


def _of(name: str, error: InvalidValue) -> InvalidValue:
    error.name = name
    return error
