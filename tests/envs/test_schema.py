"""Values from other processes, checked against annotations."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from pac.envs.schema import Bounds, InvalidValue, Length, checked, checked_arguments

Index = Annotated[int, Bounds(ge=0, lt=8)]


@dataclass(frozen=True)
class Part:
    """What a message may contain."""

    kind: Literal["a", "b"]
    span: tuple[int, float] = (0, 1.0)
    more: tuple["Part", ...] = ()


@pytest.mark.parametrize(
    ("value", "annotation", "found"),
    [
        (7, Index, 7),
        (None, Index | None, None),
        (2, float, 2),
        ([1, 2], tuple[Index, ...], (1, 2)),
        (["a"], Annotated[list[str], Length(1, 2)], ["a"]),
        ({"a": [1]}, Mapping[str, list[int]], {"a": [1]}),
        ({"kind": "a", "span": [1, 2], "more": [{"kind": "b"}]}, Part, Part("a", (1, 2), (Part("b"),))),
    ],
)
def test_a_value_that_fits_is_returned(value, annotation, found):
    """A list as a tuple and an object as a dataclass, if that is wanted."""
    assert checked(value, annotation) == found


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (True, int),
        (0.5, int),
        (8, Index),
        (-1, Index),
        (math.nan, Annotated[float, Bounds(ge=0)]),
        ("\ud800", str),
        ([], Annotated[list[str], Length(1, 2)]),
        ("ab", Annotated[str, Length(most=1)]),
        ({}, tuple[int, ...]),
        ("1", Index | None),
        ([1], tuple[int, int]),
        ({"kind": ["a"]}, Part),
        ({"kind": "a", "more": [{"kind": "c"}]}, Part),
        ({"kind": "a", "other": 1}, Part),
        ({"a": None}, Mapping[str, int]),
    ],
)
def test_a_value_that_does_not_fit_is_refused(value, annotation):
    """Of another type, outside of the range, not a number, no text, incomplete or with more than is declared."""
    with pytest.raises(InvalidValue):
        checked(value, annotation)


def steps(session, count: Index, speed: float = 1.0):
    """What a command looks like."""
    return session, count, speed


@pytest.mark.parametrize(
    ("given", "name"), [({}, "count"), ({"count": 1, "other": 2}, "other"), ({"count": 9}, "count")]
)
def test_the_error_names_the_argument(given, name):
    """One that is missing, unexpected or does not fit."""
    with pytest.raises(InvalidValue) as error:
        checked_arguments(steps, given, skip=1)
    assert error.value.name == name
