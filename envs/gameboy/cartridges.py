"""The two cartridges of this package, assembled when they are needed and pinned by their hashes."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

from ..errors import BadParameter
from .assembler import cartridge_bytes
from .cartridge import BadCartridge, Cartridge, cartridge_of, read_cartridge

DIGESTS = {
    "catch": "5ba85a997534b72782642590a3ac8611b476e82a3aaeb43d5b229a940ca3f9f7",
    "walk": "5ddc9a120acc79afb4f60cb904fbdfbd8b66305b354eef8f0858e89bd5e570d2",
}
"""SHA-256 of the files, by name."""
SOLID = ((0x00, 0x00), (0xFF, 0x00), (0x00, 0xFF), (0xFF, 0xFF))
"""The two bytes of a line of 8 pixels, by shade."""
DOTTED = (((0x00, 0x00), (0x22, 0x00)), ((0x55, 0x00), (0xAA, 0x00)), ((0xFF, 0x55), (0xFF, 0xAA)))
"""Pairs of lines of patterns that get darker."""
SIDE = 16


def _ball() -> list[int]:
    """Return the bytes of the four tiles of a ball with a bright spot."""
    found = []
    for top, left in ((0, 0), (0, 8), (8, 0), (8, 8)):
        for y in range(top, top + 8):
            inside = [(2 * x - 15) ** 2 + (2 * y - 15) ** 2 < 200 for x in range(left, left + 8)]
            bright = [(x - 5) ** 2 + (y - 5) ** 2 < 5 for x in range(left, left + 8)]
            dark = sum(bit << (7 - index) for index, bit in enumerate(inside))
            found += [dark & ~sum(bit << (7 - index) for index, bit in enumerate(bright)), dark]
    return found


def _solid(shade: int) -> list[int]:
    return [*SOLID[shade]] * 32


def _dotted(pattern: int) -> list[int]:
    """Return the bytes of four tiles of a pattern."""
    return [value for line in range(32) for value in DOTTED[pattern][line % 2]]


def tiles_of(name: str) -> list[int]:
    """Return the bytes of the tiles of a cartridge, in groups of four."""
    if name == "catch":
        return [*_solid(0), *_ball(), *_solid(2)]
    stages = [_solid(0), _solid(1), _solid(2), _solid(3), _solid(2), _solid(1), *map(_dotted, range(3))]
    return [value for group in stages for value in group]


@cache
def own_bytes(name: str) -> bytes:
    """Return the file of one of the cartridges."""
    folder = Path(__file__).parent
    source = "\n".join((folder / f"{part}.asm").read_text("utf-8") for part in ("common", name))
    tiles = ", ".join(str(value) for value in tiles_of(name))
    return cartridge_bytes(f"{source}\ntiles:\ndb {tiles}\ntiles_end:\n", f"PAC {name.upper()}")


@cache
def own_cartridge(name: str) -> Cartridge:
    """Return one of the cartridges.

    Raises:
        BadCartridge: Its source was changed, and its hash was not.
    """
    data = own_bytes(name)
    found = sha256(data).hexdigest()
    if found != DIGESTS[name]:
        raise BadCartridge(
            f"expected the cartridge {name} to have the hash {DIGESTS[name]}, got {found}; update DIGESTS"
        )
    return cartridge_of(data, name)


def cartridge_for(rom: str, game: str) -> Cartridge:
    """Return the cartridge in a file, or if there is none, the one of a game of this package."""
    if rom:
        return read_cartridge(Path(rom))
    name = game or next(iter(DIGESTS))
    if name not in DIGESTS:
        raise BadParameter(f"the game {name} needs a cartridge: set rom to its file, which is not part of this program")
    return own_cartridge(name)
