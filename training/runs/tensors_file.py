"""Writes files in the safetensors format slice by slice: the library would need a copy of every array at once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

import numpy as np

from ...envs.fields import Array
from ...envs.safetensors_file import KINDS, LENGTH
from .streamed_array import StreamedArray

ALIGNMENT = 8
NAMES = {np.dtype(kind): name for name, kind in KINDS.items()}


def safetensors_chunks(tensors: Mapping[str, Array | StreamedArray]) -> Iterator[bytes | memoryview]:
    """Yield the contents of a file of `tensors`, from its beginning to its end."""
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))  # so that all are aligned
    header, end = {}, 0
    for name in names:
        tensor = tensors[name]
        begin, end = end, end + tensor.dtype.itemsize * math.prod(tensor.shape)
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": tensor.shape, "data_offsets": (begin, end)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    yield len(text).to_bytes(LENGTH, "little") + text
    for name in names:
        tensor = tensors[name]
        if isinstance(tensor, StreamedArray):
            yield from (piece.data for piece in tensor.slices())
        else:
            yield tensor.reshape(-1).view(np.uint8).data
