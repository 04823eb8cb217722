"""Pictures as sixels: bands of six lines of pixels, drawn one color after the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array

BAND = 6
MOST = 256
"""Most colors of a picture."""
MAX_CACHED = 4096
SHORT = 3
"""Longest run that is written out."""
FIVE = 5
"""Bits of red, green and blue by which the colors of a picture with many are told apart."""


class Colors:
    """The palette of a picture: its colors, or if it has too many, the means of boxes with about as many pixels each.

    It stays the same as long as pictures have no other colors, so that parts of pictures can be drawn over each other.

    Args:
        most: Most colors of the terminal.

    Attributes:
        colors: The palette `(count, 3)`.
        version: Counts the palettes.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most, self._count = most, max(2, min(MOST, most))
        self._known = np.zeros(0, np.uint32)
        self._boxes: NDArray[np.int16] | None = None
        self.colors: NDArray[np.uint8] = np.zeros((0, 3), np.uint8)
        self.version = 0

    def indices(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the index of each pixel's color in the palette, which is made again if it lacks one."""
        red, green, blue = (pixels[..., at].astype(np.uint32) for at in range(3))
        if self._boxes is None:
            packed = red << 16 | green << 8 | blue
            found = self._looked_up(packed)
            if found is not None:
                return found
            union = np.union1d(self._known, packed)
            if len(union) <= self._count:
                self._use(np.stack([union >> 16, union >> 8 & 255, union & 255], axis=1).astype(np.uint8))
                self._known = union
                return np.searchsorted(union, packed).astype(np.uint8)
        bins = (red >> 3) << 2 * FIVE | (green >> 3) << FIVE | blue >> 3
        if self._boxes is None or (self._boxes[bins] < 0).any():
            self._boxes = self._cut(bins, pixels)
        chosen: NDArray[np.uint8] = self._boxes[bins].astype(np.uint8)
        return chosen

    def _looked_up(self, packed: Array) -> NDArray[np.uint8] | None:
        if not len(self._known):
            return None
        found = np.searchsorted(self._known, packed).clip(max=len(self._known) - 1)
        return found.astype(np.uint8) if (self._known[found] == packed).all() else None

    def _use(self, colors: NDArray[np.uint8]) -> None:
        self.colors = colors
        self.version += 1

    def _cut(self, bins: Array, pixels: NDArray[np.uint8]) -> NDArray[np.int16]:
        """Cut the space of colors into boxes at medians, the most crowded first; return the box of each bin."""
        used, where, counts = np.unique(bins.reshape(-1), return_inverse=True, return_counts=True)
        sums = np.stack([np.bincount(where, pixels[..., at].reshape(-1)) for at in range(3)], axis=1)
        means = sums / counts[:, None]
        boxes = [np.arange(len(used))]
        weights = [float(np.ptp(means, axis=0).max() * len(bins))]
        while len(boxes) < self._count and max(weights) > 0:
            at = int(np.argmax(weights))
            members = boxes.pop(at)
            weights.pop(at)
            spread = np.ptp(means[members], axis=0)
            members = members[np.argsort(means[members, spread.argmax()], kind="stable")]
            total = np.cumsum(counts[members])
            middle = min(len(members) - 1, max(1, int(np.searchsorted(total, total[-1] / 2))))
            for part in (members[:middle], members[middle:]):
                boxes.append(part)
                weights.append(float(np.ptp(means[part], axis=0).max() * counts[part].sum() ** 0.5))
        table = np.full(1 << 3 * FIVE, -1, np.int16)
        for at, members in enumerate(boxes):
            table[used[members]] = at
        means_of = [np.rint(sums[members].sum(axis=0) / counts[members].sum()) for members in boxes]
        self._use(np.array(means_of, np.uint8))
        return table


class Encoder:
    """Encodes pictures of one size at one place, and remembers the bands that it has encoded."""

    def __init__(self) -> None:
        self._bands: dict[tuple[int, int, int, bytes, bytes], str] = {}

    def encode(
        self,
        indices: NDArray[np.uint8],
        palette: Colors,
        size: tuple[int, int],
        part: tuple[int, int, int, int] | None = None,
    ) -> bytes:
        """Return a picture, or a part of it, as sixels.

        Args:
            indices: The color of each pixel, `(H, W)`.
            palette: The colors.
            size: Height and width in pixels of the terminal to which the picture is enlarged or reduced.
            part: Top, left, height and width of the part, in these.
        """
        top, left, high, wide = part or (0, 0, *size)
        rows = (np.arange(top, top + high) * len(indices) // size[0]).tolist()
        columns = np.arange(left, left + wide) * indices.shape[1] // size[1]
        first = int(columns[0])
        widths = np.bincount(columns - first)
        known = widths > 0
        ends = np.r_[0, np.cumsum(widths[known])]
        source = indices[:, first : first + len(widths)][:, known]
        if len(self._bands) > MAX_CACHED:
            self._bands.clear()
        bands = []
        for at in range(0, high, BAND):
            group = rows[at : at + BAND]
            distinct = sorted(set(group))
            lines = source[distinct]
            shape = bytes(distinct.index(row) for row in group)
            key = (palette.version, left, wide, shape, lines.tobytes())
            band = self._bands.get(key)
            if band is None:
                bits = [sum(1 << bit for bit, row in enumerate(group) if row == which) for which in distinct]
                band = self._bands[key] = "$".join(_strokes(lines, bits, ends))
            bands.append(band)
        used = np.unique(source[sorted(set(rows))]).tolist()
        percent = np.rint(palette.colors.astype(np.float64) * 100 / 255).astype(int).tolist()
        colors = "".join("#{};2;{};{};{}".format(index, *percent[index]) for index in used)
        return f'\x1bP0;1;0q"1;1;{wide};{high}{colors}{"-".join(bands)}\x1b\\'.encode()


def _strokes(lines: NDArray[np.uint8], bits: list[int], ends: NDArray[np.intp]) -> Iterator[str]:
    """Yield what each color of a band draws."""
    factors = np.array(bits, np.uint8)[:, None]
    for color in np.unique(lines).tolist():
        values = ((lines == color) * factors).sum(axis=0, dtype=np.uint8)
        cuts = np.r_[0, np.flatnonzero(values[1:] != values[:-1]) + 1, len(values)]
        spans = [(63 + int(values[start]), int(ends[end] - ends[start])) for start, end in pairwise(cuts.tolist())]
        if spans[-1][0] == 63:
            spans.pop()
        yield f"#{color}" + "".join(
            f"!{count}{chr(code)}" if count > SHORT else chr(code) * count for code, count in spans
        )
