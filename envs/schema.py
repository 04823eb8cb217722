"""Checks of messages, data from other processes and other machines, against annotations of functions and dataclasses.

The watched script's interpreter may have no package except NumPy, so this uses no library.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from .errors import brief

Check: TypeAlias = Callable[[Any], Any]
LONGEST_NAME = 200
NOUNS = {int: "a valid integer", float: "a valid number", str: "a valid string", bool: "a valid boolean"}


class InvalidValue(ValueError):
    """A value does not fit its annotation.

    Attributes:
        name: What the value is called.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.name = ""

    def sentence(self, given: Mapping[str, Any]) -> str:
        """Return what is wrong, with the value's name and what was given in its place."""
        shown = f", got {brief(given[self.name])}" if self.name in given else ""
        return f"{self.name[:LONGEST_NAME]}: {self}{shown}"


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
    return _check_of(annotation)(value)


@cache
def _check_of(annotation: Any) -> Check:
    """Return the function that checks values against an annotation."""
    make = CHECKS.get(get_origin(annotation))
    return _plain(annotation) if make is None else make(*get_args(annotation))


def _plain(annotation: Any) -> Check:
    if annotation is Any:
        return lambda value: value
    if is_dataclass(annotation):
        kind: Any = annotation
        return lambda value: kind(**checked_arguments(kind, _mapping(value)))
    if annotation in {None, type(None)}:
        return _null
    accepted: Any = (int, float) if annotation is float else annotation

    def check(value: Any) -> Any:
        if not isinstance(value, accepted) or (value.__class__ is bool and annotation is not bool):
            raise InvalidValue(f"input should be {NOUNS[annotation]}")
        if annotation is str and not _is_unicode(value):
            raise InvalidValue(f"input should be {NOUNS[str]}")
        return value

    return check


def _is_unicode(text: str) -> bool:
    """Whether a text can be written: JSON may contain halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _null(value: Any) -> None:
    if value is not None:
        raise InvalidValue("input should be null")


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidValue("input should be an object")
    return value


def _annotated(base: Any, *rules: Bounds | Length) -> Check:
    first = _check_of(base)

    def check(value: Any) -> Any:
        value = first(value)
        for rule in rules:
            rule.check(value)
        return value

    return check


def _union(*options: Any) -> Check:
    checks = [_check_of(option) for option in options]

    def check(value: Any) -> Any:
        errors = []
        for one in checks:
            try:
                return one(value)
            except InvalidValue as error:
                errors.append(error)
        raise errors[0]

    return check


def _list(item: Any) -> Check:
    one = _check_of(item)

    def check(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise InvalidValue("input should be a valid list")
        return [one(part) for part in value]

    return check


def _tuple(*items: Any) -> Check:
    if ... in items:
        several = _list(items[0])
        return lambda value: tuple(several(value))
    checks = [_check_of(item) for item in items]

    def check(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(checks):
            raise InvalidValue(f"input should be a list of {len(checks)} items")
        return tuple(one(part) for one, part in zip(checks, value, strict=True))

    return check


def _of_mapping(key: Any, item: Any) -> Check:
    name, one = _check_of(key), _check_of(item)
    return lambda value: {name(key): one(part) for key, part in _mapping(value).items()}


def _literal(*choices: str) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, str) or value not in choices:
            raise InvalidValue(f"input should be one of {', '.join(choices)}")
        return value

    return check


CHECKS: Mapping[Any, Callable[..., Check]] = {
    Annotated: _annotated,
    Union: _union,
    types.UnionType: _union,
    list: _list,
    tuple: _tuple,
    Mapping: _of_mapping,
    Literal: _literal,
}


class _Parameters(NamedTuple):
    """How the keyword arguments of a function are checked; whether it takes others, too; and which it needs."""

    checks: Mapping[str, Check]
    free: bool
    needed: tuple[str, ...]


@cache
def _parameters(function: Callable[..., Any], skip: int) -> _Parameters:
    hints, items = get_type_hints(function, include_extras=True), inspect.signature(function).parameters
    named = {name: item for name, item in list(items.items())[skip:] if item.kind is not item.VAR_KEYWORD}
    return _Parameters(
        {name: _check_of(hints[name]) for name in named},
        any(item.kind is item.VAR_KEYWORD for item in items.values()),
        tuple(name for name, item in named.items() if item.default is item.empty),
    )


def checked_arguments(function: Callable[..., Any], given: Mapping[str, Any], *, skip: int = 0) -> dict[str, Any]:
    """Return keyword arguments that fit the annotations of a function or of a dataclass.

    Args:
        skip: Number of its first parameters, which the caller passes by position.

    Raises:
        InvalidValue: One is missing, unexpected or does not fit.
    """
    checks, free, needed = _parameters(function, skip)
    found = {}
    for name, value in given.items():
        check = checks.get(name)
        if check is None and not free:
            raise _of(name, InvalidValue("unexpected keyword argument"))
        try:
            found[name] = value if check is None else check(value)
        except InvalidValue as error:
            raise _of(name, error) from None
    for name in needed:
        if name not in found:
            raise _of(name, InvalidValue("field required"))
    return found


def _of(name: str, error: InvalidValue) -> InvalidValue:
    error.name = name
    return error
