"""Reads a cartridge's file: its ROM, padded to whole banks, and which memory it has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter, PacError
from ..files import MIB, read_bytes
from .assembler import cartridge_bytes
from .layout import MBC1, MBC1M, MBC3, MBC5, PLAIN

LARGEST = 8 * MIB
BANK = 0x4000
HEADER_END = 0x150
MAPPERS = {
    **dict.fromkeys((0x00, 0x08, 0x09), PLAIN),
    **dict.fromkeys((0x01, 0x02, 0x03), MBC1),
    **dict.fromkeys(range(0x0F, 0x14), MBC3),
    **dict.fromkeys(range(0x19, 0x1F), MBC5),
}
NAMES = {0x05: "MBC2", 0x06: "MBC2", 0x0B: "MMM01", 0x0C: "MMM01", 0x0D: "MMM01", 0x20: "MBC6", 0x22: "MBC7"}
NAMES |= {0xFC: "a camera", 0xFD: "TAMA5", 0xFE: "HuC3", 0xFF: "HuC1"}
RAM_BYTES = {0: 0, 1: 0x800, 2: 0x2000, 3: 0x8000, 4: 0x20000, 5: 0x10000}
WITHOUT_RAM = {0x00, 0x01, 0x0F, 0x11, 0x19, 0x1C}


class BadCartridge(PacError):
    """A file is not a cartridge that can be run."""

    title = "Bad ROM"


@dataclass(frozen=True)
class Cartridge:
    """A cartridge.

    Attributes:
        rom: Its ROM, uint8, a power of two of banks of 16 KiB.
        mapper: What maps the banks.
        ram_bytes: Bytes of its RAM.
        checksum: The header's checksum, on which flags at the start depend.
        digest: SHA-256 of the file.
    """

    rom: NDArray[np.uint8]
    mapper: int
    ram_bytes: int
    checksum: int
    digest: str

    @cached_property
    def title(self) -> str:
        """The title in the header, as far as it is ASCII."""
        return bytes(self.rom[0x134:0x143]).split(b"\0")[0].decode("ascii", "replace").strip()


def read_cartridge(path: Path) -> Cartridge:
    """Return the cartridge in a file.

    Raises:
        UnreadableFile: The file cannot be read.
        BadCartridge: It is not a ROM, or one that is not supported.
    """
    return cartridge_of(read_bytes(path, LARGEST), str(path))


def cartridge_of(data: bytes, name: str) -> Cartridge:
    """Return the cartridge that a file's bytes are.

    Args:
        name: Its name in errors.

    Raises:
        BadCartridge: It is not a ROM, or one that is not supported.
    """
    if len(data) < HEADER_END:
        raise BadCartridge(
            f"{name} is not a Game Boy ROM: expected at least {HEADER_END} bytes, got {len(data)}; give a .gb file"
        )
    checksum = 0
    for value in data[0x134:0x14D]:
        checksum = (checksum - value - 1) & 0xFF
    if checksum != data[0x14D]:
        raise BadCartridge(
            f"{name} is not a Game Boy ROM: expected the header's checksum {checksum:02X} at 014D, "
            f"got {data[0x14D]:02X}; give a .gb file"
        )
    if data[0x143] == 0xC0:
        raise BadCartridge(f"{name} runs only on a Game Boy Color; give a ROM that also runs on the first Game Boy")
    return _supported(data, name, checksum)


def _holds_several(data: bytes) -> bool:
    """Return whether a file holds several games of 256 KiB, each with a header's picture."""
    picture = data[0x104:0x134]
    return len(data) == MIB and any(picture) and data[0x40104:0x40134] == picture


def _supported(data: bytes, name: str, checksum: int) -> Cartridge:
    kind, size, ram = data[0x147], data[0x148], data[0x149]
    if kind not in MAPPERS:
        called = NAMES.get(kind, "unknown")
        raise BadCartridge(
            f"{name} has a cartridge of type {kind:02X} ({called}); expected one without a mapper, MBC1, MBC3 or MBC5"
        )
    if size > 8 or ram not in RAM_BYTES:
        raise BadCartridge(f"{name} has the size codes {size:02X} and {ram:02X}; expected 00 to 08 and 00 to 05")
    banks = 2 << size
    if len(data) < banks * BANK // 2 or (MAPPERS[kind] == PLAIN and banks > 2):
        raise BadCartridge(
            f"{name} is truncated: its header promises {banks * BANK:,} bytes, the file has {len(data):,}"
        )
    while banks * BANK < len(data):
        banks *= 2
    rom = np.full(banks * BANK, 0xFF, np.uint8)
    rom[: len(data)] = np.frombuffer(data, np.uint8)
    mapper = MAPPERS[kind]
    return Cartridge(
        rom=rom,
        mapper=MBC1M if mapper == MBC1 and _holds_several(data) else mapper,
        ram_bytes=0 if kind in WITHOUT_RAM else RAM_BYTES[ram],
        checksum=checksum,
        digest=sha256(data).hexdigest(),
    )


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
