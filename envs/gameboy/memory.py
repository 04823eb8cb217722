"""Reads and writes of a console's state.

They are intrinsics, because Numba would compile a function once for every constant that it is called with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from .. import simulated
from ..simulated import in_python_or
from .layout import WORDS, Machine, RecordingMachine

BYTES = 8 * WORDS
"""Where in a state its bytes begin."""


def _load(builder: Any, address: Any, bits: int) -> Any:
    """Return the unsigned number at an address, as an LLVM value of 64 bits."""
    place = builder.inttoptr(address, ir.IntType(bits).as_pointer())
    found = builder.load(place, align=bits // 8)
    return found if bits == 64 else builder.zext(found, ir.IntType(64))


def _store(builder: Any, address: Any, value: Any, bits: int) -> None:
    """Write the lowest bits of an LLVM value of 64 bits to an address."""
    place = builder.inttoptr(address, ir.IntType(bits).as_pointer())
    builder.store(value if bits == 64 else builder.trunc(value, ir.IntType(bits)), place, align=bits // 8)


def _loader(bits: int) -> Callable[[int], int]:
    """Return a function that reads an unsigned number of `bits` at an address."""

    def load(_context: Any, _address: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return _load(builder, arguments[0], bits)

        return types.int64(types.int64), build

    return in_python_or(lambda address: simulated.load(address, bits), intrinsic(load))


def _storer(bits: int) -> Callable[[int, int], None]:
    """Return a function that writes the lowest `bits` of a number to an address."""

    def store(_context: Any, _address: Any, _value: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            _store(builder, arguments[0], arguments[1], bits)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), build

    return in_python_or(lambda address, value: simulated.store(address, value, bits), intrinsic(store))


load_byte, load_word = _loader(8), _loader(64)
store_byte, store_word = _storer(8), _storer(64)


def _address(m: Machine, index: int, unit: int) -> int:
    """Return the address of word `index` (`unit` 3) or byte `index` (`unit` 0) of a console's state."""
    return m.words + (index << unit) + (0 if unit else BYTES)


def _place(builder: Any, m: Any, index: Any, unit: int) -> Any:
    """Return what `_address` does, for LLVM values."""
    base = builder.extract_value(m, 0)
    if unit:
        return builder.add(base, builder.shl(index, ir.Constant(index.type, unit)))
    return builder.add(builder.add(base, ir.Constant(base.type, BYTES)), index)


def _reader(bits: int, unit: int) -> Callable[[Machine, int], int]:
    """Return a function that reads a word or byte of a console's state."""

    def read(_context: Any, m: Any, _index: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            place = _place(builder, arguments[0], arguments[1], unit)
            return _load(builder, place, bits)

        return types.int64(m, types.int64), build

    def in_python(m: Machine, index: int) -> int:
        return simulated.load(_address(m, index, unit), bits)

    return in_python_or(in_python, intrinsic(read))


def _writer(bits: int, unit: int) -> Callable[[Machine, int, int], None]:
    """Return a function that writes a word or byte of a console's state."""

    def write(_context: Any, m: Any, _index: Any, _value: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            place = _place(builder, arguments[0], arguments[1], unit)
            _store(builder, place, arguments[2], bits)
            return context.get_dummy_value()

        return types.void(m, types.int64, types.int64), build

    def in_python(m: Machine, index: int, value: int) -> None:
        simulated.store(_address(m, index, unit), value, bits)

    return in_python_or(in_python, intrinsic(write))


def _records(_context: Any, m: Any) -> Any:
    """Return whether a console records its lines, which is known when a kernel is compiled."""

    def build(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
        return context.get_constant(types.boolean, m.instance_class is RecordingMachine)

    return types.boolean(m), build


def _records_in_python(m: Machine) -> bool:
    return isinstance(m, RecordingMachine)


records: Callable[[Machine], bool] = in_python_or(_records_in_python, intrinsic(_records))
word, set_word = _reader(64, 3), _writer(64, 3)
"""Read and write a word of a state, by its number."""
byte, set_byte = _reader(8, 0), _writer(8, 0)
"""Read and write a byte of a state, by its place."""
