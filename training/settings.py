"""What all settings have in common: frozen, validated, and clear about what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, Field, ValidationError

from ..envs import BadParameter, UnknownName
from .config import Settings

Point: TypeAlias = tuple[int, float]


def _read_schedule(value: Any) -> Any:
    """Turn `0:3e-4,1e6:1e-4` into points; leave everything else to the type."""
    if not isinstance(value, str) or ":" not in value:
        return value
    points = [part.partition(":") for part in value.split(",")]
    return [(int(float(at)), float(number)) for at, _, number in points]


Points: TypeAlias = Annotated[tuple[Point, ...], Field(min_length=1)]
Schedule: TypeAlias = Annotated[float | Points, BeforeValidator(_read_schedule)]
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
