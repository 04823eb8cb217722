"""Reads and writes of a console's state, and the memory of cartridges.

Those of the state are intrinsics, because Numba would compile a function once for every constant that it is called
with. Cartridges have banks of ROM and RAM, and the clock of MBC3, which counts the processor's cycles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from .. import simulated
from ..native import called, inlined
from ..simulated import in_python_or
from . import layout as at
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


HERTZ = 1 << 22
DAY = 86_400


@called
def map_banks(m: Machine) -> None:
    """Map the banks that the cartridge's registers choose."""
    low, high, mode = word(m, at.BANK_LOW), word(m, at.BANK_HIGH), word(m, at.BANK_MODE)
    first, second, ram = 0, 1, 0
    if m.mapper == at.MBC1 or m.mapper == at.MBC1M:
        bits = 5 if m.mapper == at.MBC1 else 4
        low = low & 31 if low & 31 else 1
        second = (low & ((1 << bits) - 1)) | ((high & 3) << bits)
        if mode & 1:
            first, ram = (high & 3) << bits, high & 3
    elif m.mapper == at.MBC3:
        second, ram = (low & 127 if low & 127 else 1), high & 3
    elif m.mapper == at.MBC5:
        second, ram = low & 511, high & 15
    place = (ram << 13) & (m.ram_bytes - 1) if m.ram_bytes else at.NO_RAM
    if m.mapper == at.MBC3 and high >= 4:
        place = at.CLOCK_RAM + high if 8 <= high <= 12 else at.NO_RAM
    if m.mapper != at.PLAIN and not word(m, at.RAM_ON):
        place = at.NO_RAM
    set_word(m, at.LOW_BANK, (first & m.rom_mask) << 14)
    set_word(m, at.HIGH_BANK, (second & m.rom_mask) << 14)
    set_word(m, at.RAM_BANK, place)


@called
def write_mapper(m: Machine, now: int, address: int, value: int) -> None:
    """Write to a register of the cartridge, at 0000-7FFF."""
    part = address >> 13
    if part == 0:
        set_word(m, at.RAM_ON, int(value & 15 == 10) if m.mapper != at.MBC5 else int(value == 10))
    elif part == 1:
        if m.mapper == at.MBC5:
            low = word(m, at.BANK_LOW)
            value = (low & 0xFF) | ((value & 1) << 8) if address & 0x1000 else (low & 0x100) | value
        set_word(m, at.BANK_LOW, value)
    elif part == 2:
        set_word(m, at.BANK_HIGH, value & 15)
    elif m.mapper == at.MBC3:
        if value == 1 and word(m, at.LATCH) == 0:
            set_word(m, at.LATCHED, clock_bytes(m, now))
        set_word(m, at.LATCH, value)
    else:
        set_word(m, at.BANK_MODE, value & 1)
    map_banks(m)


@inlined
def seconds_of(m: Machine, now: int) -> int:
    """Return the seconds that the cartridge's clock shows."""
    held = word(m, at.CLOCK_HELD)
    return held if held >= 0 else (now - word(m, at.CLOCK_ZERO)) // HERTZ


@called
def clock_bytes(m: Machine, now: int) -> int:
    """Return the registers of the cartridge's clock, the first one in the lowest byte."""
    seconds = seconds_of(m, now)
    days = seconds // DAY
    flags = ((days >> 8) & 1) | (0x40 if word(m, at.CLOCK_HELD) >= 0 else 0) | (0x80 if days > 511 else 0)
    parts = (seconds % 60) | ((seconds // 60 % 60) << 8) | ((seconds // 3600 % 24) << 16)
    return parts | ((days & 255) << 24) | (flags << 32)


@called
def write_clock(m: Machine, now: int, register: int, value: int) -> None:
    shift = 8 * (register - 8)
    parts = (clock_bytes(m, now) & ~(255 << shift)) | (value << shift)
    days = ((parts >> 24) & 255) | (((parts >> 32) & 1) << 8)
    seconds = (parts & 63) + 60 * ((parts >> 8) & 63) + 3600 * ((parts >> 16) & 31) + DAY * days
    set_word(m, at.CLOCK_HELD, seconds if (parts >> 32) & 0x40 else -1)
    set_word(m, at.CLOCK_ZERO, now - seconds * HERTZ)


@inlined
def read_cartridge_ram(m: Machine, address: int) -> int:
    """Return what is read at A000-BFFF."""
    bank = word(m, at.RAM_BANK)
    if bank >= 0:
        return byte(m, at.CARTRIDGE_RAM + ((bank + (address & 0x1FFF)) & (m.ram_bytes - 1)))
    return 255 if bank == at.NO_RAM else (word(m, at.LATCHED) >> (8 * (bank - at.CLOCK_RAM - 8))) & 255


@inlined
def write_cartridge_ram(m: Machine, now: int, address: int, value: int) -> None:
    """Write to A000-BFFF."""
    bank = word(m, at.RAM_BANK)
    if bank >= 0:
        set_byte(m, at.CARTRIDGE_RAM + ((bank + (address & 0x1FFF)) & (m.ram_bytes - 1)), value)
    elif bank != at.NO_RAM:
        write_clock(m, now, bank - at.CLOCK_RAM, value)
