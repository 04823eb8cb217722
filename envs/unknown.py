"""The number that stands for an unknown one. It is a NaN of its own, so that NaN and infinity remain values.

Its bits survive copies and conversions between float32 and float64. Arithmetic with it gives some NaN.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BITS = 0x7FF8DEAD00000000
SIGN = 1 << 63
UNKNOWN: float = struct.unpack("<d", struct.pack("<Q", BITS))[0]
BITS_32: int = struct.unpack("<I", struct.pack("<f", UNKNOWN))[0]


def is_unknown(value: float | None) -> bool:
    """Return whether a number is None or `UNKNOWN`."""
    return value is None or (math.isnan(value) and struct.unpack("<Q", struct.pack("<d", value))[0] & ~SIGN == BITS)


def unknown_in(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers of an array of floats are `UNKNOWN`."""
    import numpy as np

    wide = values.dtype.itemsize == 8
    bits: NDArray[Any] = np.ascontiguousarray(values).view(np.uint64 if wide else np.uint32).reshape(values.shape)
    found: NDArray[np.bool_] = bits & ((SIGN if wide else SIGN >> 32) - 1) == (BITS if wide else BITS_32)
    return found


def spelled(value: float) -> str:
    """Return NaN or an infinity as text, as JavaScript writes it."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
