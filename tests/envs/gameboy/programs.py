"""Programs for tests, and the consoles that run them."""

from __future__ import annotations

from pac.envs.gameboy.assembler import cartridge_bytes
from pac.envs.gameboy.cartridge import BANK, Cartridge, cartridge_of
from pac.envs.gameboy.console import Console

HEAD = "org $100\n nop\n jp $150\norg $150\n"


def cartridge(source: str, vectors: str = "") -> Cartridge:
    """Return a cartridge with a program, and with code at interrupts' addresses."""
    return cartridge_of(cartridge_bytes(f"{vectors}\n{HEAD}{source}", "TEST"), "test")


def numbered_banks(source: str, banks: int) -> Cartridge:
    """Return an MBC5 cartridge with a program, whose other banks begin with their number, lowest byte first."""
    data = bytearray(cartridge_bytes(f"{HEAD}{source}", "TEST").ljust(banks * BANK, b"\0"))
    for bank in range(1, banks):
        data[bank * BANK : bank * BANK + 2] = bank.to_bytes(2, "little")
    data[0x147], data[0x148] = 0x19, banks.bit_length() - 2
    return cartridge_of(with_checksum(data), "test")


def with_checksum(data: bytearray) -> bytes:
    """Return a file with the checksum of its header."""
    data[0x14D] = -sum(data[0x134:0x14D]) - 25 & 0xFF
    return bytes(data)


def ran(source: str, frames: int = 2, vectors: str = "") -> Console:
    """Return a console after so many frames of a program."""
    console = Console(cartridge(source, vectors))
    console.run_frames(frames)
    return console
