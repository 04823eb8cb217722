"""Images in half blocks, enlarged or reduced by a whole number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.segment import Segment
from rich.style import Style

from ...envs.fields import Array
from ...training.telemetry.description import ShapedPanel
from ..drawing.styles import GROUND, Row, mixed, palette
from .scale import Scale

FACTORS = (8, 6, 4, 3, 2, 1, -2, -3, -4, -5, -6, -8, -10, -12, -16)
"""By how much an image is enlarged; -2 is half of its size."""
MAX_CACHED = 8192
BRIGHT_IMAGE = 160
"""Mean of an image, of 255, from which on it is dimmed: mostly white boards would outshine everything else."""
DIMMED = 0.5


def image_scales(height: int, width: int) -> tuple[Scale, ...]:
    """Return the scales of an image, each named by its factor, largest first."""
    sizes = [(factor, _length(height, factor), _length(width, factor)) for factor in FACTORS]
    return tuple(Scale(str(factor), w, -(-h // 2)) for factor, h, w in sizes if h >= 1 and w >= 4) or (
        Scale("1", width, -(-height // 2)),
    )


def _length(length: int, factor: int) -> int:
    return length * factor if factor > 0 else length // -factor


def in_pairs(images: Array, factor: int) -> Array:
    """Return bytes `(count, H, W, C)` as pairs of an upper and a lower pixel, `(count, lines, columns, 2 * C)`."""
    if factor > 0:
        pixels = images.repeat(factor, axis=1).repeat(factor, axis=2)
    else:
        step, (count, height, width, channels) = -factor, images.shape
        cut = images[:, : height // step * step, : width // step * step]
        blocks = cut.reshape(count, height // step, step, width // step, step, channels)
        pixels = _reduced(blocks, np.median(cut[:, ::2, ::2], axis=(1, 2)))
    if pixels.shape[1] % 2:
        pixels = np.concatenate([pixels, pixels[:, -1:]], axis=1)
    count, height, width, channels = pixels.shape
    pairs = pixels.reshape(count, height // 2, 2, width, channels).transpose(0, 1, 3, 2, 4)
    return np.ascontiguousarray(pairs).reshape(count, height // 2, width, 2 * channels)


def _reduced(blocks: Array, grounds: Array) -> Array:
    """Return one pixel per block `(count, H, step, W, step, C)`: between its mean and what differs most.

    Means alone would let thin lines vanish.

    Args:
        blocks: The pixels.
        grounds: The usual pixel of each image, `(count, C)`.
    """
    low, high = blocks.min(axis=(2, 4)).astype(np.float32), blocks.max(axis=(2, 4)).astype(np.float32)
    usual = grounds[:, None, None]
    farthest = np.where(high - usual > usual - low, high, low)
    reduced: Array = ((blocks.mean(axis=(2, 4)) + farthest) / 2).astype(np.uint8)
    return reduced


def runs(row: Array) -> Iterator[tuple[Array, int]]:
    """Return the pairs of a line `(columns, 2 * C)`, equal neighbors once with their number."""
    starts = np.flatnonzero(np.r_[True, (row[1:] != row[:-1]).any(axis=1)])
    ends = np.r_[starts[1:], len(row)]
    return ((row[start], int(end - start)) for start, end in zip(starts, ends, strict=True))


class PixelRenderer:
    """An image in half blocks, enlarged or reduced by a whole number. Bright images are dimmed on dark terminals."""

    def __init__(self, panel: ShapedPanel) -> None:
        height, width, _ = panel.shape
        self._styles: dict[bytes, Style] = {}
        self._dimmed: bool | None = None
        self.size = height, width
        self.scales = image_scales(height, width)

    def images(self, boards: Array) -> Array:
        """Return the pixels, of which the terminal shows each if it can."""
        return boards

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return pixels `(count, lines, columns, 6)`: the upper and lower color of every character."""
        if self._dimmed is None and boards.any():
            drawn = boards[
                boards.reshape(len(boards), -1).any(axis=1)
            ]  # the others are black until their first drawing
            self._dimmed = palette().dark and float(drawn.mean()) > BRIGHT_IMAGE
        return in_pairs(boards, int(scale.name))

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return one line of half blocks, with equal neighbors in one segment."""
        return tuple(Segment("▀" * length, self._style(pair.tobytes())) for pair, length in runs(row))

    def _style(self, pair: bytes) -> Style:
        found = self._styles.get(pair)
        if found is None:
            if len(self._styles) >= MAX_CACHED:
                self._styles.clear()
            above, below = (f"#{half.hex()}" for half in (pair[:3], pair[3:]))
            if self._dimmed:
                above, below = mixed(above, GROUND, DIMMED), mixed(below, GROUND, DIMMED)
            found = self._styles[pair] = Style(color=above, bgcolor=below)
        return found
