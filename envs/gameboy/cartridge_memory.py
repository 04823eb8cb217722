"""The memory of cartridges: banks of ROM and RAM, and the clock of MBC3, which counts the processor's cycles."""

from __future__ import annotations

from .compiled import called, inlined
from .layout import (
    BANK_HIGH,
    BANK_LOW,
    BANK_MODE,
    CARTRIDGE_RAM,
    CLOCK_HELD,
    CLOCK_RAM,
    CLOCK_ZERO,
    HIGH_BANK,
    LATCH,
    LATCHED,
    LOW_BANK,
    MBC1,
    MBC1M,
    MBC3,
    MBC5,
    NO_RAM,
    PLAIN,
    RAM_BANK,
    RAM_ON,
    Machine,
)
from .memory import byte, set_byte, set_word, word

HERTZ = 1 << 22
DAY = 86_400


@called
def map_banks(m: Machine) -> None:
    """Map the banks that the cartridge's registers choose."""
    low, high, mode = word(m, BANK_LOW), word(m, BANK_HIGH), word(m, BANK_MODE)
    first, second, ram = 0, 1, 0
    if m.mapper == MBC1 or m.mapper == MBC1M:
        bits = 5 if m.mapper == MBC1 else 4
        low = low & 31 if low & 31 else 1
        second = (low & ((1 << bits) - 1)) | ((high & 3) << bits)
        if mode & 1:
            first, ram = (high & 3) << bits, high & 3
    elif m.mapper == MBC3:
        second, ram = (low & 127 if low & 127 else 1), high & 3
    elif m.mapper == MBC5:
        second, ram = low & 511, high & 15
    place = (ram << 13) & (m.ram_bytes - 1) if m.ram_bytes else NO_RAM
    if m.mapper == MBC3 and high >= 4:
        place = CLOCK_RAM + high if 8 <= high <= 12 else NO_RAM
    if m.mapper != PLAIN and not word(m, RAM_ON):
        place = NO_RAM
    set_word(m, LOW_BANK, (first & m.rom_mask) << 14)
    set_word(m, HIGH_BANK, (second & m.rom_mask) << 14)
    set_word(m, RAM_BANK, place)


@called
def write_mapper(m: Machine, now: int, address: int, value: int) -> None:
    """Write to a register of the cartridge, at 0000-7FFF."""
    part = address >> 13
    if part == 0:
        set_word(m, RAM_ON, int(value & 15 == 10) if m.mapper != MBC5 else int(value == 10))
    elif part == 1:
        if m.mapper == MBC5:
            low = word(m, BANK_LOW)
            value = (low & 0xFF) | ((value & 1) << 8) if address & 0x1000 else (low & 0x100) | value
        set_word(m, BANK_LOW, value)
    elif part == 2:
        set_word(m, BANK_HIGH, value & 15)
    elif m.mapper == MBC3:
        if value == 1 and word(m, LATCH) == 0:
            set_word(m, LATCHED, clock_bytes(m, now))
        set_word(m, LATCH, value)
    else:
        set_word(m, BANK_MODE, value & 1)
    map_banks(m)


@inlined
def seconds_of(m: Machine, now: int) -> int:
    """Return the seconds that the cartridge's clock shows."""
    held = word(m, CLOCK_HELD)
    return held if held >= 0 else (now - word(m, CLOCK_ZERO)) // HERTZ


@called
def clock_bytes(m: Machine, now: int) -> int:
    """Return the registers of the cartridge's clock, the first one in the lowest byte."""
    seconds = seconds_of(m, now)
    days = seconds // DAY
    flags = ((days >> 8) & 1) | (0x40 if word(m, CLOCK_HELD) >= 0 else 0) | (0x80 if days > 511 else 0)
    parts = (seconds % 60) | ((seconds // 60 % 60) << 8) | ((seconds // 3600 % 24) << 16)
    return parts | ((days & 255) << 24) | (flags << 32)


@called
def write_clock(m: Machine, now: int, register: int, value: int) -> None:
    """Write a register of the cartridge's clock."""
    shift = 8 * (register - 8)
    parts = (clock_bytes(m, now) & ~(255 << shift)) | (value << shift)
    days = ((parts >> 24) & 255) | (((parts >> 32) & 1) << 8)
    seconds = (parts & 63) + 60 * ((parts >> 8) & 63) + 3600 * ((parts >> 16) & 31) + DAY * days
    set_word(m, CLOCK_HELD, seconds if (parts >> 32) & 0x40 else -1)
    set_word(m, CLOCK_ZERO, now - seconds * HERTZ)


@inlined
def read_cartridge_ram(m: Machine, address: int) -> int:
    """Return what is read at A000-BFFF."""
    bank = word(m, RAM_BANK)
    if bank >= 0:
        return byte(m, CARTRIDGE_RAM + ((bank + (address & 0x1FFF)) & (m.ram_bytes - 1)))
    return 255 if bank == NO_RAM else (word(m, LATCHED) >> (8 * (bank - CLOCK_RAM - 8))) & 255


@inlined
def write_cartridge_ram(m: Machine, now: int, address: int, value: int) -> None:
    """Write to A000-BFFF."""
    bank = word(m, RAM_BANK)
    if bank >= 0:
        set_byte(m, CARTRIDGE_RAM + ((bank + (address & 0x1FFF)) & (m.ram_bytes - 1)), value)
    elif bank != NO_RAM:
        write_clock(m, now, bank - CLOCK_RAM, value)
