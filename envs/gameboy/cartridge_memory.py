"""The memory of cartridges: banks of ROM and RAM, and the clock of MBC3, which counts the processor's cycles."""

from __future__ import annotations

from ..native import called, inlined
from . import layout as at
from .layout import Machine
from .memory import byte, set_byte, set_word, word

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
    """Write a register of the cartridge's clock."""
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
