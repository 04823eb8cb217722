"""Observations that are images: side by side, in half blocks, as large as they fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ...training.telemetry.description import ShapedPanel
from ..boards import Renderer, renderer_for
from ..drawing.styles import FAINT, Row, blank, fit, styled
from ..preferences import preferences

CHANNELS = 4
"""Most channels of an image."""
LEAST = 17  # pixels of the shorter side; smaller arrays are shown as planes
COLORS = 3


def channels_first(values: Array) -> Array:
    """Return `(P, H, W)` for `(P, H, W)` or `(H, W, P)`, whichever axis looks like channels."""
    last = values.shape[2]
    return np.moveaxis(values, 2, 0) if last <= CHANNELS < min(values.shape[:2]) else values


def images_in(values: Array) -> NDArray[np.uint8] | None:
    """Return an observation as images `(P, H, W, 3)`; None if it does not look like images.

    Three channels are one color image. Any other number of channels is as many gray images.
    """
    if values.ndim not in {2, COLORS}:
        return None
    planes = values[None] if values.ndim == 2 else channels_first(values)
    if min(planes.shape[1:]) < LEAST:
        return None
    shades = planes if planes.dtype == np.uint8 else _shades(planes)
    return np.moveaxis(shades, 0, -1)[None] if len(shades) == COLORS else shades[..., None].repeat(COLORS, axis=-1)


def _shades(values: Array) -> NDArray[np.uint8]:
    """Numbers as shades of gray, from the lowest to the highest."""
    known = np.nan_to_num(values.astype(np.float64), posinf=0, neginf=0)
    low, high = known.min(), known.max()
    shades: NDArray[np.uint8] = (255 * (known - low) / ((high - low) or 1.0)).astype(np.uint8)
    return shades


def image_rows(pictures: NDArray[np.uint8], width: int, height: int) -> list[Row]:
    """Return images `(P, H, W, 3)`, numbered if there are several; what does not fit is left out."""
    renderer = _renderer(pictures.shape[1:], preferences().theme)
    for scale in renderer.scales:
        across = min(len(pictures), max(1, (width + 1) // (scale.columns + 1)))
        lines = -(-len(pictures) // across) * (scale.lines + (len(pictures) > 1))
        if scale.columns <= width and lines <= height:
            break
    prepared = renderer.prepare(pictures, scale)
    rows: list[Row] = []
    for first in range(0, len(pictures), across):
        group = range(first, min(first + across, len(pictures)))
        if len(pictures) > 1:
            rows.append(_side_by_side([(styled(fit(str(at), scale.columns), FAINT),) for at in group]))
        rows += [
            _side_by_side([renderer.line(prepared[at, line], 0, scale) for at in group]) for line in range(scale.lines)
        ]
    return rows[:height]


@lru_cache(maxsize=2)
def _renderer(shape: tuple[int, ...], _theme: str) -> Renderer:
    return renderer_for(ShapedPanel("pixels", "", "", shape=shape))


def _side_by_side(pieces: Sequence[Row]) -> Row:
    return tuple(segment for piece in pieces for segment in (*piece, blank(1)))
