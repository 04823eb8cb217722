"""Files of tensors in the safetensors format, in pieces and as views: a length, a JSON header, the bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ...envs.files import MIB, parse_json
from .stream import Stream

LENGTH = struct.Struct("<Q")
ALIGNMENT = 8
MAX_HEADER = 16 * MIB
KINDS = {
    "BOOL": "?",
    **{f"{kind.upper()}{8 * size}": f"<{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
}
"""NumPy's types by their names in the format."""
NAMES = {np.dtype(kind): name for name, kind in KINDS.items()}


def pieces(tensors: Mapping[str, Array | Stream]) -> Iterator[bytes | memoryview]:
    """Yield what a file of `tensors` holds, from its beginning to its end."""
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))  # so that all are aligned
    header, end = {}, 0
    for name in names:
        tensor = tensors[name]
        begin, end = end, end + tensor.dtype.itemsize * int(np.prod(tensor.shape, dtype=np.int64))
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": tensor.shape, "data_offsets": (begin, end)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    yield LENGTH.pack(len(text)) + text
    for name in names:
        tensor = tensors[name]
        if isinstance(tensor, Stream):
            yield from (piece.data for piece in tensor.slices())
        else:
            yield tensor.reshape(-1).view(np.uint8).data


def read(file: BinaryIO) -> dict[str, Array]:
    """Return the tensors of an open file, mapped: what is written into them stays in this process.

    Raises:
        ValueError: It is not such a file.
    """
    body: NDArray[np.uint8] = np.asarray(np.memmap(file, np.uint8, mode="c"))
    try:
        (length,) = LENGTH.unpack(body[: LENGTH.size].tobytes())
        first = LENGTH.size + length
        header = parse_json(body[LENGTH.size : min(first, MAX_HEADER)].tobytes())  # a longer one is cut: not JSON
        return {name: _view(body[first:], about) for name, about in header.items() if name != "__metadata__"}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error) as error:
        raise ValueError(f"not a file of tensors: {error}") from error


def _view(body: NDArray[np.uint8], about: Mapping[str, Any]) -> Array:
    begin, end = about["data_offsets"]
    found: Array = body[begin:end].view(KINDS[about["dtype"]]).reshape(about["shape"])
    return found
