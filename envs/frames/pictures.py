"""The pictures that kernels copy from: the shapes, and the goal pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..packed import BRIGHTEST, pack_pixels, pixels_of_bytes
from .layout import CELL, GOALS, HEIGHT, MARGIN, MOST_SHAPES, ROW_BYTES, SIDE, WIDTH, Bytes

RADII = (20, 12, 4)
"""Radius of shade 1, 2 and 3 of a shape, in pixels."""


def shape_of(index: int) -> Bytes:
    """Return shape `index` as shades `(SIDE, SIDE)`: a square, a diamond or a disc, brighter towards its center."""
    rows, columns = np.abs(np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2)
    far = (np.maximum(rows, columns), rows + columns, np.hypot(rows, columns))[index]
    shades: Bytes = np.sum([far < radius for radius in RADII], axis=0).astype(np.uint8)
    return shades


def shapes() -> Bytes:
    """Return the packed shapes, `(MOST_SHAPES, SIDE, SIDE_BYTES)`."""
    return pack_pixels(np.stack([shape_of(index) for index in range(MOST_SHAPES)]))


def goal_pictures() -> Bytes:
    """Return packed pictures `(1 + MOST_SHAPES, HEIGHT, ROW_BYTES)`; picture k has the first k shapes at their goals.

    Picture k is the background of stage k, and picture k + 1 its goal.
    """
    picture = np.zeros((HEIGHT, WIDTH), np.uint8)
    found = [picture]
    for index, (row, column) in enumerate(GOALS):
        top, left = ((place - MARGIN) * CELL for place in (row, column))
        picture = picture.copy()
        part = picture[top : top + SIDE, left : left + SIDE]
        np.maximum(part, shape_of(index), out=part)
        found.append(picture)
    packed = pack_pixels(np.stack(found))
    assert packed.shape[-1] == ROW_BYTES
    return packed


def brighter_bytes() -> Bytes:
    """Return `(256, 256)`: the byte with the brighter of each pair of pixels of two bytes."""
    pixels = pixels_of_bytes()
    brighter: NDArray[np.uint8] = np.maximum(pixels[:, None], pixels)
    assert brighter.max() == BRIGHTEST
    return pack_pixels(brighter)[..., 0]
