"""What the policy's choice depends on: over an image, as a map of a board, or as a list of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ...envs.spaces.names import labels_of
from ...training.telemetry.description import Description
from ...training.telemetry.moments import Moment
from ...training.trainer import Saliency
from ..drawing.numbers import readable
from ..drawing.styles import CYAN, FAINT, RED, SOFT, TEXT, Row, bar, blank, fit, styled
from .environment_rows import action_text
from .images import channels_first, image_rows, images_in
from .number_rows import hint
from .observation import bright, plane_names

COLOR = np.array([255, 60, 40], np.float32)
"""The color of what a choice depends on most."""
DIMMED = 0.6
"""How bright an image is below its overlay."""
MOST = 24


def target(about: Description, found: Saliency) -> str:
    """Return of what the gradient is."""
    if found.action is None:
        return f"of the {found.of}" if found.of else ""
    return f"of the {found.of} of {action_text(about, found.action) if found.action.size == 1 else 'the action'}"


def salient(about: Description, moment: Moment, found: Saliency, width: int, height: int) -> list[Row]:
    """Return the rows of what the choice at `moment` depends on, in `width` columns and at most `height` lines."""
    if moment.back:
        return hint("known of the newest step only", width)
    if found.step < 0:
        return hint(f"waiting for the next step{' in which its policy acts' if about.watched else ''}", width)
    if not found.of and found.note:
        return hint(f"unknown: {found.note}", width)
    if not found.of:
        return hint("this trainer cannot say it of its policy, or the observation is too large", width)
    seen = moment.observation if found.given is None else found.given
    if seen is None or found.gradient.shape != seen.shape:
        return hint("waiting for the next step", width)
    sizes = np.nan_to_num(np.abs(found.gradient), posinf=0, neginf=0)
    if not sizes.any():
        return hint("the choice depends on nothing: all gradients are 0", width)
    if found.given is not None:
        steps = moment.now - found.step
        age = f"{steps:,} {'step' if steps == 1 else 'steps'} ago" if steps > 0 else ""
        said = hint(", ".join(filter(None, (target(about, found), age, found.note))), width)
        room = height - len(said)
        if (pictures := images_in(seen)) is not None:
            return [*image_rows(overlaid(pictures, sizes), width, room), *said]
        names = _names(about, sizes) if found.named else [f"input {index}" for index in range(sizes.size)]
        return [*_numbers(names, found.gradient, seen, width, room), *said]
    if not about.slices and (pictures := images_in(bright(about, seen))) is not None:
        return image_rows(overlaid(pictures, sizes), width, height)
    if sizes.ndim == 3:
        return _board(about, sizes, width, height)
    return _numbers(_names(about, sizes), found.gradient, seen, width, height)


def overlaid(pictures: NDArray[np.uint8], sizes: Array) -> NDArray[np.uint8]:
    """Return images `(P, H, W, 3)` with colored pixels where sizes `(H, W)`, `(P, H, W)` or `(H, W, P)` are large."""
    parts = sizes[None] if sizes.ndim == 2 else channels_first(sizes)
    if len(parts) != len(pictures):  # the channels of one color image
        parts = parts.max(axis=0, keepdims=True)
    shares = (parts / (parts.max() or 1.0))[..., None].astype(np.float32)
    mixed = DIMMED * pictures * (1 - shares) + COLOR * shares
    return mixed.round().astype(np.uint8)


def _board(about: Description, sizes: Array, width: int, height: int) -> list[Row]:
    """A map of the cells, the largest of all planes each, and the planes that count most.

    Planes with one value for all cells are no part of the map.
    """
    parts = sizes if about.slices else channels_first(sizes)
    low, high = about.observation.uniform
    varying = np.delete(parts, slice(low, high), axis=0)
    drawn: list[Row] = []
    if len(varying):
        cells = varying.max(axis=0)
        most = height if len(parts) == 1 else max(1, min(height - 2, max(-(-cells.shape[0] // 2), height // 2)))
        enlarged = max(1, min(width // cells.shape[1], 2 * most // cells.shape[0]))
        cells = cells.repeat(enlarged, axis=0).repeat(enlarged, axis=1)
        drawn = image_rows(overlaid(np.zeros((1, *cells.shape, 3), np.uint8), cells), width, most)
    totals, names = parts.sum(axis=(1, 2)), plane_names(about, len(parts))
    first = np.argsort(-totals, kind="stable")[: max(0, min(height - len(drawn), MOST))].tolist()
    if len(parts) == 1:
        return drawn
    wide = max((len(names[at]) for at in first), default=0)
    most_of_all = float(totals.max())
    rows = [_row(names[at], float(totals[at]), most_of_all, "", width, room_for_name=wide) for at in first]
    return [*drawn, *rows]


def _names(about: Description, sizes: Array) -> list[str]:
    return labels_of({name: (low, high) for name, low, high in about.slices}, sizes.size)


def _numbers(names: Sequence[str], gradient: Array, observation: Array, width: int, height: int) -> list[Row]:
    """The numbers that count most: a bar for the size, the gradient and the number; red if less of it counts for it."""
    flat, seen = gradient.reshape(-1), observation.reshape(-1)
    sizes = np.nan_to_num(np.abs(flat), posinf=0, neginf=0)
    first = np.argsort(-sizes, kind="stable")[: max(1, min(height - 1, MOST))].tolist()
    most = float(sizes.max())
    wide = max(len(names[at]) for at in first)
    rows = [
        _row(names[at], float(flat[at]), most, readable(float(seen[at])), width, room_for_name=wide) for at in first
    ]
    if (left := len(flat) - len(first)) and height > 1:
        rows.append((styled(fit(f"{left:,} more numbers count less", width), FAINT),))
    return rows


def _row(name: str, value: float, most: float, seen: str, width: int, *, room_for_name: int) -> Row:
    wide = min(room_for_name, width // 2)
    numbers = f"{readable(value):>10}" + (f" at {seen:>8}" if seen and width >= 48 else "")
    room = max(0, width - wide - len(numbers) - 1)
    return (
        styled(fit(name, wide) + " ", SOFT),
        *bar(abs(value) / (most or 1.0), room, CYAN if value >= 0 else RED),
        blank(max(0, width - wide - 1 - room - len(numbers))),
        styled(numbers, TEXT),
    )
