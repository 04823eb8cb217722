"""Arrays by name in one block of memory, private or shared with other processes."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .segment import Segment

ALIGNMENT = 64


class ArraySpec(NamedTuple):
    """The shape and the type of an array."""

    shape: tuple[int, ...]
    dtype: str


class NamedArrays(dict[str, NDArray[Any]]):
    """Arrays by name, each 64-byte aligned, zero when they are made.

    Attributes:
        segment: The shared memory that holds them; None if they are in memory of this process.
    """

    def __init__(self, specs: Mapping[str, ArraySpec], segment: Segment | None = None) -> None:
        self.segment = segment
        memory = np.zeros(_size(specs), np.uint8) if segment is None else np.frombuffer(segment.map, np.uint8)
        start = 0
        for name, (shape, dtype) in specs.items():
            size = _bytes(shape, dtype)
            self[name] = memory[start : start + size].view(dtype).reshape(shape)
            start += size + -size % ALIGNMENT

    @classmethod
    def create(cls, specs: Mapping[str, ArraySpec], name: str) -> NamedArrays:
        """Return arrays in a new segment, whose file name begins with `name`.

        Raises:
            SharedMemoryFull: They do not fit into the file system.
        """
        return cls(specs, Segment.create(f"{name}-{secrets.token_hex(6)}", _size(specs)))

    @classmethod
    def attach(cls, specs: Mapping[str, ArraySpec], path: Path, *, writable: bool = False) -> NamedArrays:
        """Return arrays that another process has created with the same `specs`.

        Raises:
            OSError: The file is missing.
        """
        return cls(specs, Segment.attach(path, writable=writable))

    def unlink(self) -> None:
        """Remove the file of the segment; the memory is freed with its last mapping."""
        if self.segment is not None:
            self.segment.unlink()


def _bytes(shape: tuple[int, ...], dtype: str) -> int:
    return prod(shape) * np.dtype(dtype).itemsize


def _size(specs: Mapping[str, ArraySpec]) -> int:
    return max(ALIGNMENT, sum(size + -size % ALIGNMENT for size in (_bytes(*spec) for spec in specs.values())))
