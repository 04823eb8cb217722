"""What compiled kernels do with memory, in Python: for Numba's CUDA simulator, which compiles nothing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar, cast

import numpy as np
from numba import config
from numpy.typing import DTypeLike

Function = TypeVar("Function", bound=Callable[..., object])

IN_PYTHON: bool = cast("Any", config).DISABLE_JIT
"""Whether Numba compiles nothing."""


def in_python_or(in_python: Function, compiled: Any) -> Function:
    """Return what a kernel calls: an intrinsic of the compiler, or its Python version if nothing is compiled."""
    return in_python if IN_PYTHON else cast("Function", compiled)


class WrappingArray(np.ndarray[Any, Any]):
    """An array whose integers are as in compiled code: computed with 64 bits, stored modulo their type's values."""

    def __getitem__(self, index: Any) -> Any:
        """Return a part, or an element."""
        found = super().__getitem__(index)
        return int(found) if isinstance(found, np.integer) and found.itemsize < np.int64().itemsize else found

    def __setitem__(self, index: Any, value: Any) -> None:
        """Store a value."""
        if self.dtype.kind in "iu" and isinstance(value, int | np.integer):
            bits = 8 * self.itemsize
            value = np.array(int(value) % (1 << bits), f"u{self.itemsize}").view(self.dtype)[()]
        super().__setitem__(index, value)


def array_at(address: int, shape: tuple[int, ...], dtype: DTypeLike) -> WrappingArray:
    """Return the array at an address, which the caller keeps alive."""
    size = prod(shape) * np.dtype(dtype).itemsize
    memory = memoryview((ctypes.c_char * size).from_address(address)) if size else memoryview(bytearray())
    return WrappingArray(shape, dtype, memory)


def load(address: int, bits: int) -> int:
    """Return the unsigned number of 8 bits, or the signed number of 64 bits, at an address."""
    return (ctypes.c_uint8 if bits == 8 else ctypes.c_int64).from_address(int(address)).value


def store(address: int, value: int, bits: int) -> None:
    """Write the lowest 8 or 64 bits of a number to an address."""
    (ctypes.c_uint8 if bits == 8 else ctypes.c_int64).from_address(int(address)).value = int(value)
