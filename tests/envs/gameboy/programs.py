"""Programs for tests, and the consoles that run them."""

from __future__ import annotations

from pac.envs.gameboy.assembler import cartridge_bytes
from pac.envs.gameboy.cartridge import Cartridge, cartridge_of
from pac.envs.gameboy.console import Console

HEAD = "org $100\n nop\n jp $150\norg $150\n"


def cartridge(source: str, vectors: str = "") -> Cartridge:
    """Return a cartridge with a program, and with code at interrupts' addresses."""
    return cartridge_of(cartridge_bytes(f"{vectors}\n{HEAD}{source}", "TEST"), "test")


def ran(source: str, frames: int = 2, vectors: str = "") -> Console:
    """Return a console after so many frames of a program."""
    console = Console(cartridge(source, vectors))
    console.run_frames(frames)
    return console
