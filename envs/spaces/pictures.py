"""Pictures of observations: any array that looks like one, whatever its axes and its range are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..fields import Array

LEAST, LEAST_PLANES = 16, 3
"""Cells of the shorter side of a picture, and of a grid of planes of zeros and ones."""
MOST_CHANNELS = 32
COLORS, BYTES, WIDEST = 3, 255, 1e4
"""Channels of a colored picture; the largest byte; the widest range of numbers that is taken for that of a picture."""
GROUND = "#181820"
HUES = (
    "#e6755f", "#5fb3e6", "#8fd15f", "#e6c15f", "#b58ae6", "#5fe0c8", "#e68ac4", "#c8c8d2",
    "#a0664b", "#4b70a0", "#5f8f3c", "#a08a3c", "#7a5aa0", "#3c9486", "#a05a84", "#7d7d8c",
)  # fmt: skip
"""The colors of planes, in their order."""
SHADES = ("#0b0f2e", "#3b3f9c", "#8a3fa0", "#d9576b", "#f6a05a", "#fcf4c0")
"""The colors of distances and other numbers without a range, from the lowest to the highest."""

Kind = Literal["color", "gray", "numbers", "planes"]


@dataclass(frozen=True)
class SeenPicture:
    """How observations of one shape and range are drawn.

    Attributes:
        kind: `color` and `gray` are pictures, several if frames are stacked. `numbers` have no range, such as
            distances, and are drawn from their lowest to their highest. `planes` are zeros and ones.
        shape: The shape of an observation.
        frames: How many frames are stacked, oldest first; 1 for planes.
        height: Cells.
        width: Cells.
        low: The number that is black.
        high: The number that is white.
    """

    kind: Kind
    shape: tuple[int, ...]
    frames: int
    height: int
    width: int
    low: float
    high: float

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """What the colors mean, `(name, #rrggbb)`; empty for pictures."""
        if self.kind == "planes":
            return tuple((f"plane {plane}", HUES[plane % len(HUES)]) for plane in range(_planes(self.shape)))
        return (("lowest", SHADES[0]), ("highest", SHADES[-1])) if self.kind == "numbers" else ()

    def picture(self, observation: Array, *, beside: bool = False) -> NDArray[np.uint8]:
        """Return an observation as a picture `(H, W, 3)`: of stacked frames the newest one, or all beside each other.

        Args:
            observation: Numbers of `shape`; those that are not finite are drawn as the lowest.
            beside: Whether to draw all frames.
        """
        frames = self._frames(np.asarray(observation).reshape(self.shape))
        if self.kind == "planes":
            return _of_planes(frames)
        shown = frames if beside else frames[-1:]
        bytes_ = self._bytes(shown)
        if self.kind == "numbers":
            found = _table()[bytes_[..., 0]]
        else:
            found = bytes_ if self.kind == "color" else bytes_.repeat(COLORS, axis=-1)
        joined: NDArray[np.uint8] = np.concatenate(list(found), axis=1)
        return joined

    def _frames(self, observation: Array) -> Array:
        """Return the frames `(F, H, W, C)`; of planes, `(P, H, W, 1)`."""
        last = _channels_last(observation)
        if self.kind == "planes":
            planes: Array = np.moveaxis(last[0], -1, 0)[..., None]
            return planes
        if last.shape[0] > 1:
            return last
        channels = COLORS if self.kind == "color" else 1
        height, width, count = last.shape[1:]
        frames: Array = np.moveaxis(last[0].reshape(height, width, count // channels, channels), 2, 0)
        return frames

    def _bytes(self, frames: Array) -> NDArray[np.uint8]:
        if frames.dtype == np.uint8 and (self.low, self.high) == (0, BYTES):
            return frames
        with np.errstate(all="ignore"):
            numbers = frames.astype(np.float64)
            known = np.isfinite(numbers)
            low, high = self.low, self.high
            if self.kind == "numbers":
                inside = numbers[known] if known.any() else np.zeros(1)
                low, high = float(inside.min()), float(inside.max())
            share = np.where(known, (numbers - low) / ((high - low) or 1.0), 0.0).clip(0, 1)
        shades: NDArray[np.uint8] = np.rint(BYTES * share).astype(np.uint8)
        return shades


def seen(shape: tuple[int, ...], dtype: str, low: float = -math.inf, high: float = math.inf) -> SeenPicture | None:
    """Return how observations are drawn as pictures; None if they do not look like pictures.

    Pictures are `(H, W)`, `(H, W, C)` or `(C, H, W)`, or frames of these, `(F, ...)`. Three channels are colors, as are
    several times three; other channels are stacked frames.

    Args:
        shape: The shape of an observation.
        dtype: The name of its type.
        low: The lowest number of the space.
        high: The highest number.
    """
    last = _shape_last(shape)
    if last is None:
        return None
    frames, height, width, channels = last
    whole = dtype == "bool" or (np.dtype(dtype).kind in "iu" and (low, high) == (0, 1))
    if whole and channels > 1 and frames == 1:
        return SeenPicture("planes", shape, 1, height, width, 0, 1) if min(height, width) >= LEAST_PLANES else None
    if min(height, width) < LEAST or (frames > 1 and channels not in {1, COLORS}):
        return None
    if whole:
        low, high = 0.0, 1.0
    elif dtype == "uint8":
        low, high = 0.0, float(BYTES)
    color = channels % COLORS == 0
    ranged = low < high and high - low <= WIDEST
    kind: Kind = "color" if color else "gray" if ranged or channels * frames > 1 else "numbers"
    if not ranged:
        low, high = 0.0, 1.0
    return SeenPicture(kind, shape, frames * (channels // COLORS if color else channels), height, width, low, high)


def _shape_last(shape: tuple[int, ...]) -> tuple[int, int, int, int] | None:
    """Return frames, height, width and channels of a shape; None if it is not that of a picture."""
    if not shape or len(shape) not in {2, 3, 4} or min(shape) < 1:
        return None
    if len(shape) == 2:
        return 1, shape[0], shape[1], 1
    frames = shape[0] if len(shape) == 4 else 1
    one, two, three = shape[-3:]
    if three <= MOST_CHANNELS and three < min(one, two):
        return frames, one, two, three
    return (frames, two, three, one) if one <= MOST_CHANNELS and one < min(two, three) else None


def _channels_last(observation: Array) -> Array:
    """Return an observation whose shape is known to be that of a picture as `(F, H, W, C)`."""
    if observation.ndim == 2:
        return observation[None, ..., None]
    framed = observation if observation.ndim == 4 else observation[None]
    one, two, three = framed.shape[1:]
    last = three <= MOST_CHANNELS and three < min(one, two)
    return framed if last else np.moveaxis(framed, 1, -1)


def _planes(shape: tuple[int, ...]) -> int:
    found = _shape_last(shape)
    return found[3] if found is not None else 0


def _of_planes(planes: Array) -> NDArray[np.uint8]:
    """Return planes `(P, H, W, 1)` as one picture: each cell has the color of its first plane that is not zero."""
    found = planes[..., 0] != 0
    colors = np.array([_rgb(GROUND), *(_rgb(HUES[at % len(HUES)]) for at in range(len(found)))], np.uint8)
    picture: NDArray[np.uint8] = colors[np.where(found.any(axis=0), found.argmax(axis=0) + 1, 0)]
    return picture


def _rgb(color: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(color[1:]))


def _table() -> NDArray[np.uint8]:
    """Return the colors of the bytes 0 to 255 of numbers without a range."""
    anchors = np.array([_rgb(color) for color in SHADES], np.float64)
    at = np.linspace(0, len(SHADES) - 1, BYTES + 1)
    channels = [np.interp(at, np.arange(len(SHADES)), anchors[:, channel]) for channel in range(COLORS)]
    return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)
