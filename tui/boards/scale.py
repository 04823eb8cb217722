"""The sizes of boards."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """One size that a board can be drawn at.

    Attributes:
        name: Its name.
        columns: Columns of text.
        lines: Lines of text.
        span: Lines that one row of the prepared board takes.
    """

    name: str
    columns: int
    lines: int
    span: int = 1
