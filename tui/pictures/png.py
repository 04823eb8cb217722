"""Pictures as PNG."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLORS = 2
"""PNG's number for pixels of red, green and blue."""


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return pixels `(H, W, 3)` as PNG."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each begins with its filter: none
    lines[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">2I5B", width, height, 8, COLORS, 0, 0, 0)
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines.tobytes())) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
