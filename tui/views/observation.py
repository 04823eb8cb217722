"""An observation as rows: an image, small images of planes, bars of named slices, or numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.segment import Segment

from ...envs.fields import Array
from ...envs.packed import BRIGHTEST
from ...training.telemetry.description import Description
from ...training.telemetry.moments import Moment
from ..drawing.dots import BRAILLE, HALVES, PLAIN_HALVES
from ..drawing.numbers import readable
from ..drawing.styles import CYAN, FAINT, LINE, RED, SIGNS, SOFT, TEXT, Row, bar, blank, fit, styled
from .images import channels_first, image_rows, images_in
from .number_rows import hint

NAME = 14
TILE, LEAST_TILE = 8, 5
LEAST_PLANE = 3
"""Pixels of the shorter side of an image; smaller ones are bars."""
LIGHTEST = 255
LEVELS = " ▁▂▃▄▅▆▇█"
PLAIN_LEVELS = " .:-=+*#@"
SHADES = " ░▒▓█"
PLAIN_SHADES = " .:*#"


def observed(about: Description, moment: Moment, width: int, height: int) -> list[Row]:
    """Return the rows of the observation of `moment`, in `width` columns and, if it has planes, `height` lines."""
    values = moment.observation
    if values is None:
        return hint(moment.note or "the observation of this step is not stored", width)
    if not values.size:
        return hint("nothing that is a number is observed", width)
    if not about.slices and (pictures := images_in(bright(about, values))) is not None:
        return image_rows(pictures, width, height)
    if values.ndim == 3:
        values = values if about.slices else channels_first(values)
        return _planes(about, np.asarray(values, np.float32), width, height)
    flat = np.asarray(values, np.float64).reshape(-1)
    names = [name for name, first, last in about.slices if last == first + 1]
    if about.slices and values.ndim == 1 and not (len(names) == len(flat) <= height):
        parts = [
            (name, flat[first:last], dict(about.observation.images).get(first)) for name, first, last in about.slices
        ]
        return [row for part in parts for row in _part(*part, width, height)]
    if len(flat) <= height:
        most = float(np.abs(_finite(flat)).max())
        names = names or [str(index) for index in range(len(flat))]
        wide = min(width // 2, max(map(len, names)) + 2)
        return [_number(name, value, most, width, wide) for name, value in zip(names, flat.tolist(), strict=True)]
    return _slice("all", flat, width)


def bright(about: Description, values: Array) -> Array:
    """Return packed pixels, unpacked, as bytes up to 255."""
    return values * np.uint8(LIGHTEST // BRIGHTEST) if about.observation.encoding == "2bpp" else values


def _part(name: str, values: Array, shape: tuple[int, ...] | None, width: int, height: int) -> list[Row]:
    """A part of a vector: an image of `shape` in at most half of the lines, as planes if it is small; else bars."""
    if shape is None or not values.size:
        return _slice(name, values, width)
    image, most = (LIGHTEST * _finite(values)).round().astype(np.uint8).reshape(shape), max(1, height // 2)
    if (pictures := images_in(image)) is not None:
        return [(styled(fit(name, width), SOFT),), *image_rows(pictures, width, most)]
    drawn = image[None] if image.ndim == 2 else channels_first(image)
    if min(drawn.shape[1:]) < LEAST_PLANE:
        return _slice(name, values, width)
    names = [f"{name} {index}" for index in range(len(drawn))] if len(drawn) > 1 else [name]
    return planes(drawn.astype(np.float32), names, width, most)


def _planes(about: Description, values: NDArray[np.float32], width: int, height: int) -> list[Row]:
    """The planes as small images; planes that have the same value everywhere as bars with their slices' names."""
    low, high = about.observation.uniform
    names = plane_names(about, len(values))
    alike = [
        row
        for name, first, last in about.slices
        if low <= first < last <= high
        for row in _slice(name, values[first:last, 0, 0], width)[:1]
    ]
    drawn = [index for index in range(len(values)) if not (alike and low <= index < high)]
    if not drawn:
        return alike
    return [*planes(values[drawn], [names[at] for at in drawn], width, height - len(alike)), *alike]


def plane_names(about: Description, count: int) -> list[str]:
    """The name of each plane: its slice's, numbered where a slice has several."""
    names = [str(index) for index in range(count)]
    for name, first, last in about.slices:
        for index in range(first, min(last, count)):
            names[index] = name if last - first == 1 else f"{name} {index - first}"
    return names


def planes(values: NDArray[np.float32], names: Sequence[str], width: int, height: int) -> list[Row]:
    """Return planes `(P, H, W)` as tiles with names, as large as they fit; lines that do not fit are counted."""
    values = _finite(values)
    low, high = float(values.min()), float(values.max())
    if not np.isin(values, (0, 1)).all():
        scaled = (values.astype(np.float64) - low) / ((high - low) or 1.0)
        return _whole(_tiles([_shades(plane) for plane in scaled], names, width, TILE), height)
    halves = HALVES if SIGNS.braille else PLAIN_HALVES
    large, small = ([kind.lines(plane > 0) for plane in values] for kind in (halves, BRAILLE))
    for tiles, least in ((large, TILE), (small, TILE), (small, LEAST_TILE)) if SIGNS.braille else ((large, TILE),):
        drawn = _tiles(tiles, names, width, least)
        if len(drawn) <= height:
            break
    return _whole(drawn, height)


def _whole(rows: list[Row], height: int) -> list[Row]:
    """The rows that fit; in place of the others, their number."""
    if len(rows) <= height:
        return rows
    return [*rows[: height - 1], (styled(f"{len(rows) - height + 1} more lines do not fit", FAINT),)]


def _tiles(tiles: Sequence[list[str]], names: Sequence[str], width: int, least: int) -> list[Row]:
    """Tiles side by side and below each other, each `least` columns wide at least."""
    columns = max(len(tiles[0][0]), least)
    across = max(1, (width + 1) // (columns + 1))
    rows: list[Row] = []
    for first in range(0, len(tiles), across):
        group = range(first, min(first + across, len(tiles)))
        rows.append(tuple(s for at in group for s in (styled(_short(names[at], columns), FAINT), blank(1))))
        rows += [
            tuple(s for at in group for s in (styled(fit(tiles[at][line], columns), CYAN), blank(1)))
            for line in range(len(tiles[0]))
        ]
    return rows


def _short(name: str, width: int) -> str:
    """A name shortened to `width` columns, without cutting its number."""
    head, space, number = name.rpartition(" ")
    return fit(name, width) if not space or len(name) <= width else fit(head, width - len(number)) + number


def _shades(plane: NDArray[np.float64]) -> list[str]:
    """A plane of values from 0 to 1, one to a character."""
    levels = SHADES if SIGNS.braille else PLAIN_SHADES
    return ["".join(levels[round(4 * value)] for value in line) for line in plane.tolist()]


def _finite(values: Array) -> Array:
    """Return the values with 0 in place of NaN and infinity."""
    return np.nan_to_num(values, posinf=0, neginf=0)


def _slice(name: str, values: Array, width: int) -> list[Row]:
    """A named slice: a bar for every value, wrapped, and their range."""
    levels = LEVELS if SIGNS.braille else PLAIN_LEVELS
    known = _finite(values)
    low, high = float(known.min()), float(known.max())
    most = max(abs(low), abs(high)) or 1.0
    if len(values) == 1:
        return [_number(name, float(values[0]), most, width, _label(width))]
    sizes = np.rint(8 * np.abs(known) / most).astype(np.int64).tolist()
    signs = [
        styled(levels[size] if size else ".", (RED if value < 0 else CYAN) if size else LINE)
        if math.isfinite(value)
        else styled(SIGNS.broken, RED, bold=True)
        for size, value in zip(sizes, values.tolist(), strict=True)
    ]
    wide = _label(width)
    room = max(4, width - wide)
    rows: list[Row] = [
        (styled(fit("" if first else name, wide), SOFT), *Segment.simplify(signs[first : first + room]))
        for first in range(0, len(signs), room)
    ]
    counted, span = f"{len(values)} values", f"{readable(low)} to {readable(high)}"
    text = f"{counted}, {span}" if len(counted) + len(span) + 2 <= width else span
    row: Row = (blank(max(0, min(wide, width - len(text)))), styled(text, FAINT))
    broken = len(values) - np.count_nonzero(np.isfinite(values))
    return [*rows, (*row, styled(f", {broken:,} NaN or infinite", RED)) if broken else row]


def _label(width: int) -> int:
    """Return the columns of a name, so that there is room for its values."""
    return NAME if width > 2 * NAME else width // 3


def _number(name: str, value: float, most: float, width: int, wide: int) -> Row:
    """A name in `wide` columns, a bar and a number."""
    room, color = max(0, width - wide - 11), CYAN if value >= 0 else RED
    number = styled(f"{readable(value):>11}", TEXT) if math.isfinite(value) else styled(f"{value:>11}", RED, bold=True)
    return (styled(fit(name, wide), SOFT), *bar(abs(value) / (most or 1.0), room, color), number)
