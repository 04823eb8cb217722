"""The base class of all trainer settings: frozen and validated, with messages that name the setting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, ValidationError
from pydantic_core import PydanticCustomError

from ..envs import BadParameter, UnknownName
from .config import Settings

Point: TypeAlias = tuple[int, float]


def _read_schedule(value: Any) -> float | tuple[Point, ...]:
    """Return the number or the points that a value is, or spells."""
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
            "schedule", "input should be a number of at least 0, or points of such in their order, 0:3e-4,1e6:1e-4"
        )
    return points if isinstance(value, list | tuple) else numbers[0]


Schedule: TypeAlias = Annotated[float | tuple[Point, ...], BeforeValidator(_read_schedule)]
"""A constant, or points `(decisions, value)` joined by lines and flat beyond them; as text `0:3e-4,1e6:1e-4`."""


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


class TrainerSettings(Settings):
    """Settings of a trainer; this one has none."""

    @classmethod
    def read(cls, trainer: str, values: Mapping[str, Any]) -> Self:
        """Return validated settings.

        Args:
            trainer: The trainer's name, for the error.
            values: Plain data; what is missing has its default.

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
            raise BadParameter("; ".join(_sentence(trainer, item) for item in error.errors())) from None


def _sentence(trainer: str, item: Any) -> str:
    text = item["msg"].removeprefix("Value error, ").lower()
    return f"{trainer}.{item['loc'][0]}: {text}, got {item['input']!r}" if item["loc"] else f"{trainer}: {text}"
