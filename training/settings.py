"""The base class of trainer settings, schedules, and the messages about values that do not fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import BeforeValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ..envs import BadParameter, UnknownName
from ..envs.errors import brief
from .config import StrictModel

Point: TypeAlias = tuple[int, float]
NOUNS = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list"}


def _read_schedule(value: Any) -> float | tuple[Point, ...]:
    """Return a schedule from a number, from points, or from the text of either."""
    points: tuple[Point, ...] = ()
    try:
        if isinstance(value, str) and ":" in value:
            value = [part.split(":") for part in value.split(",")]
        if not isinstance(value, list | tuple):
            points = ((0, float(value)),)
        else:
            points = tuple((int(float(at)), float(number)) for at, number in value)
    except (TypeError, ValueError, OverflowError):
        pass
    times, numbers = [at for at, _ in points], [number for _, number in points]
    if not points or times != sorted(times) or not all(0 <= number < math.inf for number in (*times, *numbers)):
        raise PydanticCustomError(
            "expected", "a number of at least 0, or points with increasing decisions such as 0:3e-4,1e6:1e-4"
        )
    return points if isinstance(value, list | tuple) else numbers[0]


Schedule: TypeAlias = Annotated[float | tuple[Point, ...], BeforeValidator(_read_schedule)]
"""A constant, or points `(decisions, value)` with linear interpolation; as text `0:3e-4,1e6:1e-4`."""


def scheduled(schedule: float | tuple[Point, ...], decisions: int) -> float:
    """Return the value of a schedule after `decisions`."""
    if isinstance(schedule, float | int):
        return float(schedule)
    before = schedule[0]
    for point in schedule:
        if point[0] > decisions:
            share = (decisions - before[0]) / (point[0] - before[0]) if point[0] > before[0] else 0.0
            return before[1] + min(max(share, 0.0), 1.0) * (point[1] - before[1])
        before = point
    return before[1]


def setting_text(value: Any) -> str:
    """Return the value of a setting as one would write it: a schedule as `0:0.0003,1000000:0.0001`."""
    if isinstance(value, list | tuple):
        return ",".join(f"{at}:{setting_text(number)}" for at, number in value)
    if isinstance(value, bool) or value is None:
        return {None: "none", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


class TrainerSettings(StrictModel):
    """Base class of trainer settings, without any setting of its own.

    Attributes:
        LIVE: The names of settings that can be changed while the trainer trains, by `Trainer.change_settings`.
    """

    LIVE: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def read(cls, trainer: str, values: Mapping[str, Any], sources: Mapping[str, str] | None = None) -> Self:
        """Return validated settings.

        Args:
            trainer: The trainer's name, for the error message.
            values: Plain data; a missing value has its default.
            sources: Where values came from, by key, for the error message.

        Raises:
            UnknownName: A key is unknown.
            BadParameter: A value does not fit.
        """
        for key in values:
            if key not in cls.model_fields:
                raise UnknownName(f"setting of {trainer}", key, cls.model_fields)
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            labels = {"": trainer, **{key: f"{trainer}.{key}" for key in cls.model_fields}, **(sources or {})}
            raise BadParameter(explain(cls, error, labels)) from None


def explain(model: type[StrictModel], error: ValidationError, labels: Mapping[str, str]) -> str:
    """Return one sentence per value that does not fit, with what was expected and what was given.

    Args:
        model: The class that refused the values.
        labels: The fields' names for people; that of the whole object has the key "".
    """
    return "; ".join(_sentence(model, item, labels) for item in error.errors())


def _sentence(model: type[StrictModel], item: ErrorDetails, labels: Mapping[str, str]) -> str:
    if not item["loc"]:
        return f"{labels['']}: {item['msg'].removeprefix('Value error, ')}"
    key = str(item["loc"][0])
    wanted = item["msg"] if item["type"] == "expected" else expected(model, key)
    if item["type"] == "finite_number":
        wanted = wanted.replace("a number", "a finite number")
    return f"{labels[key]} expects {wanted}, got {brief(item['input'])}"


def expected(model: type[StrictModel], key: str) -> str:
    """Return in words which values the field `key` of `model` accepts."""
    schema = model.model_json_schema()["properties"][key]
    if "expected" in schema:
        return str(schema["expected"])
    schema = next((part for part in schema.get("anyOf", ()) if part.get("type") != "null"), schema)
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    kind = schema.get("type")
    noun, low, high = NOUNS.get(kind, "text"), schema.get("minimum"), schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    if kind == "integer" and above is not None:
        low, above = above + 1, None
    if low is not None and high is not None:
        return f"{noun} from {low:,} to {high:,}"
    if above is not None:
        return f"{noun} above {above:g}" + (f" and of at most {high:g}" if high is not None else "")
    return f"{noun} of at least {low:g}" if low is not None else noun
