"""Pixels of four shades, packed four to a byte: packing, unpacking, and the distance of packed images.

A row of W pixels is `ceil(W / 4)` bytes. The first pixel of a byte is in its lowest two bits; unused bits are 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHADES = 4
PER_BYTE = 4
BRIGHTEST = SHADES - 1

Bytes = NDArray[np.uint8]


@cache
def pixels_of_bytes() -> Bytes:
    """Return `(256, 4)`: the pixels of each byte."""
    table: Bytes = (np.arange(256)[:, None] >> 2 * np.arange(PER_BYTE) & BRIGHTEST).astype(np.uint8)
    return table


@cache
def byte_distances() -> Bytes:
    """Return `(256, 256)`: the sum of the absolute differences of the pixels of two bytes."""
    pixels = pixels_of_bytes().astype(np.int16)
    table: Bytes = np.abs(pixels[:, None] - pixels).sum(axis=-1).astype(np.uint8)
    return table


def packed_width(width: int) -> int:
    """Return the bytes of a row of `width` pixels."""
    return -(-width // PER_BYTE)


def pack_pixels(pixels: NDArray[Any]) -> Bytes:
    """Pack shades 0 to 3, `(..., W)` to `(..., ceil(W / 4))`."""
    spare = -pixels.shape[-1] % PER_BYTE
    padded = np.pad(pixels.astype(np.uint8), [(0, 0)] * (pixels.ndim - 1) + [(0, spare)])
    by_byte = padded.reshape(*padded.shape[:-1], -1, PER_BYTE)
    packed: Bytes = np.bitwise_or.reduce(by_byte << 2 * np.arange(PER_BYTE, dtype=np.uint8), axis=-1)
    return packed


def unpack_pixels(packed: Bytes, width: int) -> Bytes:
    """Unpack `(..., ceil(width / 4))` to shades `(..., width)`."""
    pixels = pixels_of_bytes()[packed]
    unpacked: Bytes = pixels.reshape(*packed.shape[:-1], -1)[..., :width]
    return unpacked


def packed_distances(images: Bytes, goal: Bytes) -> NDArray[np.int64]:
    """Return the L1 distances of packed images `(N, ...)` from a packed `goal` `(...)`, without unpacking them."""
    from .packed_kernels import distances_to

    found = np.empty(len(images), np.int64)
    flat = np.ascontiguousarray(images).reshape(len(images), -1)
    distances_to(byte_distances(), flat, np.ascontiguousarray(goal).reshape(-1), found)
    return found
