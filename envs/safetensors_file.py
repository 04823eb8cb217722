"""Reads files in the safetensors format as views of the mapped file.

The library parses and checks the header, but copies every array that it loads with NumPy, which doubles the memory of a
large table; mapped pages are shared by all processes and loaded when they are used.
"""

from __future__ import annotations

import math
from io import BufferedReader

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from .fields import Array
from .files import MIB

LENGTH = 8
"""A file begins with the length of its header in so many bytes, the lowest first."""
MAX_HEADER = 16 * MIB
KINDS = {
    "BOOL": "?",
    **{f"{kind.upper()}{8 * size}": f"<{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
}
"""NumPy's types by their names in the format."""


def map_tensors(file: BufferedReader, *, writable: bool = False) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the arrays of an open file and its metadata.

    Args:
        file: The file; it may be closed while its arrays are used.
        writable: Whether the arrays can be written to; what is written stays in this process.

    Raises:
        ValueError: The file does not have the format, has types that NumPy lacks, or a header above `MAX_HEADER` bytes.
        OSError: The file cannot be mapped.
    """
    body: NDArray[np.uint8] = np.asarray(np.memmap(file, np.uint8, mode="c" if writable else "r"))
    end = LENGTH + int.from_bytes(body[:LENGTH].tobytes(), "little")
    if end > MAX_HEADER:
        raise ValueError(f"not a safetensors file: its header has {end:,} bytes, the most is {MAX_HEADER:,}")
    arrays = {}
    try:
        with safe_open(f"/dev/fd/{file.fileno()}", "numpy") as header:  # its path may lead to another file by now
            for name in header.offset_keys():  # the library refuses gaps and overlaps
                about = header.get_slice(name)
                kind, shape = np.dtype(KINDS[about.get_dtype()]), about.get_shape()
                begin, end = end, end + kind.itemsize * math.prod(shape)
                arrays[name] = body[begin:end].view(kind).reshape(shape)
            return arrays, header.metadata() or {}
    except (KeyError, SafetensorError) as error:
        raise ValueError(f"not a safetensors file: {error}") from error
