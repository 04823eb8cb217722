"""Framed panels made of rows. One widget shows a whole column of panels, at a tenth of the cost of a widget each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .styles import FAINT, LINE, SIGNS, TEXT, Row, fit, padded, styled, width_of

BORDER = 4
LEAST = 3

Rows = Sequence[Row]
Maker = Callable[[int, int], Rows]


@dataclass(frozen=True)
class Section:
    """A panel of a column.

    Attributes:
        title: Text at the top left of the border.
        fills: Whether it takes the room that other sections leave.
        least: Rows that it needs if it fills; with fewer it is left out.
        note: Text or row at the top right of the border; the end of a row that is too long is left out.
        more: Text after the title, if there is room.
        whole: Whether it is left out instead of cut if it does not fit.
    """

    title: str
    rows: Maker
    fills: bool = False
    note: str | Row = ""
    more: str = ""
    whole: bool = False
    least: int = 1


def bordered(title: str, rows: Rows, width: int, height: int, note: str | Row = "") -> list[Row]:
    """Return rows in a border of `width` columns and `height` lines."""
    _, _, left, right = SIGNS.corners
    inner = max(0, height - 2)
    shown = [*rows[:inner], *(() for _ in range(inner - len(rows)))]
    edge = (styled("│ ", LINE), styled(" │", LINE))
    return [
        border_top(title, note, width),
        *((edge[0], *padded(row, width - BORDER), edge[1]) for row in shown),
        (styled(left + "─" * max(0, width - 2) + right, LINE),),
    ]


def border_top(title: str, note: str | Row, width: int) -> Row:
    """Return the top of a border, with a title on the left and a note on the right if there is room."""
    left, right = SIGNS.corners[:2]
    name = f" {fit(title, width - 4).rstrip()} " if title and width > 6 else ""
    end = _noted(note)
    while end and len(name) + width_of(end) + 6 > width:
        end = end[:-1]
    tail = (styled(" "), *end, styled(" "), styled("─", LINE)) if end else ()
    rule = "─" * max(0, width - 3 - len(name) - width_of(tail))
    return (styled(f"{left}─", LINE), styled(name, TEXT, bold=True), styled(rule, LINE), *tail, styled(right, LINE))


def column(sections: Sequence[Section], width: int, height: int) -> list[Row]:
    """Return sections below each other in `height` lines; sections that do not fit are left out."""
    if width <= BORDER or height < LEAST:
        return []
    inner = width - BORDER
    fixed = {index: section.rows(inner, height) for index, section in enumerate(sections) if not section.fills}
    heights = _heights(sections, {index: len(rows) + 2 for index, rows in fixed.items()}, height)
    stacked: list[Row] = []
    for index, section in enumerate(sections):
        tall = heights[index]
        if tall >= LEAST:
            rows = fixed[index] if index in fixed else section.rows(inner, tall - 2)
            stacked += bordered(_title(section, width), rows, width, tall, section.note)
    return stacked


def taken(sections: Sequence[Section], width: int, height: int) -> int:
    """Return the lines that sections of fixed height take."""
    return sum(len(section.rows(width - BORDER, height)) + 2 for section in sections)


def columns(groups: Sequence[Sequence[Section]], widths: Sequence[int], height: int) -> list[Row]:
    """Return columns of sections side by side."""
    return beside([column(group, width, height) for group, width in zip(groups, widths, strict=True)], widths)


def pages(sections: Sequence[Section], width: int, height: int) -> list[list[Section]]:
    """Return sections by page, in order. A section that does not fit is on the next page, where it fits or is cut."""
    if width <= BORDER or height < LEAST:
        return [list(sections)]
    found: list[list[Section]] = []
    left = [
        (section, section.least if section.fills else len(section.rows(width - BORDER, height))) for section in sections
    ]
    while left:
        here: list[Section] = []
        later, room = [], height
        for section, rows in left:
            if rows + 2 <= room or not here:
                here.append(section if rows + 2 <= room else replace(section, whole=False))
                room -= rows + 2
            else:
                later.append((section, rows))
        found.append(here)
        left = later
    return found or [[]]


def _title(section: Section, width: int) -> str:
    """The title, with the additional text if both and the note fit."""
    long = f"{section.title}, {section.more}"
    return long if section.more and len(long) + width_of(_noted(section.note)) + 8 <= width else section.title


def _noted(note: str | Row) -> Row:
    return ((styled(note, FAINT),) if note else ()) if isinstance(note, str) else note


def _heights(sections: Sequence[Section], wanted: dict[int, int], height: int) -> list[int]:
    """Lines of every section: first the fixed ones in order; those that fill share the rest."""
    heights = [0] * len(sections)
    left = height
    for index, tall in wanted.items():
        cut = left if left >= LEAST and not sections[index].whole else 0
        heights[index] = tall if tall <= left else cut
        left -= heights[index]
    filling = [index for index, section in enumerate(sections) if section.fills]
    while filling and sum(sections[index].least + 2 for index in filling) > left:
        filling.pop()
    spare = left - sum(sections[index].least + 2 for index in filling)
    for place, index in enumerate(filling):
        heights[index] = sections[index].least + 2 + spare // len(filling) + (place < spare % len(filling))
    return heights


def beside(blocks: Sequence[Rows], widths: Sequence[int]) -> list[Row]:
    """Return blocks of rows side by side, each in its width."""
    tallest = max((len(block) for block in blocks), default=0)
    return [
        tuple(
            segment
            for block, width in zip(blocks, widths, strict=True)
            for segment in padded(block[y] if y < len(block) else (), width)
        )
        for y in range(tallest)
    ]


def shares(width: int, count: int) -> list[int]:
    """Return `width` columns divided into `count` parts."""
    return [width // count + (index < width % count) for index in range(count)]
