"""One console in this process: for tests, for finding start states, and for building cartridges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..native import compiled
from ..packed import unpack_pixels
from . import layout as at
from .bus import press, read
from .cartridge import Cartridge
from .layout import BGP, IE, IF, LCDC, NR52, P1, SC, SOUND_FIRST, STAT, Machine, block_bytes
from .memory import map_banks, word
from .operations import TABLES
from .processor import run

AFTER_BOOT = {
    P1: 0x00,
    SC: 0x00,
    IF: 0x01,
    NR52: 0x80,
    LCDC: 0x91,
    STAT: 0x00,
    BGP: 0xFC,
    0x24: 0x77,
    0x25: 0xF3,
    SOUND_FIRST: 0x80,
    0x11: 0xBF,
    0x12: 0xF3,
    0x14: 0xBF,
    0x16: 0x3F,
    0x48: 0xFF,
    0x49: 0xFF,
    IE: 0x00,
}
"""The hardware's registers after the boot ROM, which is not run."""
DIVIDER_AFTER_BOOT = 0xABC8
LINE_0_AFTER_BOOT = 24
"""T-cycles from the first instruction to line 0."""


@compiled
def peek(m: Machine, address: int) -> int:
    """Return what the processor would read."""
    return read(m, word(m, at.CLOCK), address)


class Console:
    """A console with a cartridge.

    Args:
        drawn: What is drawn of frames.
        booted: Whether to begin as after the boot ROM, at 0100. Otherwise everything is 0.

    Attributes:
        block: The state, `(block_bytes,)`.
        words: Its 64-bit words.
        frame_data: The last frame, 2 bits per pixel.
    """

    def __init__(self, cartridge: Cartridge, drawn: int = at.WHOLE, *, booted: bool = True) -> None:
        self.cartridge = cartridge
        self.words = np.zeros(block_bytes(cartridge.ram_bytes) // 8, np.int64)
        self.block = self.words.view(np.uint8)
        self.bytes = self.block[8 * at.WORDS :]
        self.drawn = drawn
        self.frame_data = np.zeros(72 * 20 if drawn == at.HALF else 144 * 40, np.uint8)
        self.machine = self.machine_with(cartridge.rom)
        self._power_on(booted)

    def machine_with(self, rom: NDArray[np.uint8], **changed: int) -> Machine:
        """Return what kernels need to know, with a ROM that must outlive it."""
        machine = Machine(
            words=self.words.ctypes.data,
            rom=rom.ctypes.data,
            tables=TABLES.ctypes.data,
            mapper=self.cartridge.mapper,
            rom_mask=len(rom) // 0x4000 - 1,
            ram_bytes=self.cartridge.ram_bytes,
            top=0x8000,
            out=self.frame_data.ctypes.data,
            drawn=self.drawn,
        )
        return machine._replace(**changed)

    def _power_on(self, booted: bool) -> None:
        words = self.words
        words[at.RELOAD] = words[at.SERIAL_END] = words[at.DMA_AT] = at.FAR
        words[at.RELOADED] = -1
        words[at.BANK_LOW], words[at.CLOCK_HELD] = 1, -1
        self.bytes[at.CARTRIDGE_RAM :] = 0xFF
        if booted:
            flags = 0x80 if self.cartridge.checksum == 0 else 0xB0
            words[at.REGISTERS] = 0x0013_00D8_014D_0001 | flags << 8
            words[at.PC], words[at.SP], words[at.DIVIDER] = 0x100, 0xFFFE, DIVIDER_AFTER_BOOT
            words[at.LCD_BEGIN] = LINE_0_AFTER_BOOT - 2 * at.FRAME_CYCLES
            for place, value in AFTER_BOOT.items():
                self.bytes[at.HIGH_PAGE + place] = value
        map_banks(self.machine)

    def load(self, state: NDArray[np.int64]) -> None:
        self.words[:] = state
        map_banks(self.machine)

    @property
    def clock(self) -> int:
        """T-cycles since power on."""
        return int(self.words[at.CLOCK])

    def press(self, buttons: int) -> None:
        """Hold these buttons: right left up down A B Select Start, from the lowest bit."""
        press(self.machine, buttons)

    def run_until(self, clock: int) -> int:
        """Run to the first instruction boundary at or after a time; return why it stopped."""
        while True:
            self.words[at.STOP] = clock
            why = run(self.machine)
            if why != at.BLANKED:
                return why

    def run_frames(self, count: int = 1) -> int:
        """Run frames, each to the vertical blank; return why the last one stopped."""
        why = 0
        for _ in range(count):
            self.words[at.STOP] = self.words[at.CLOCK] + at.FRAME_CYCLES
            why = run(self.machine)
        return why

    def peek(self, address: int) -> int:
        """Return what the processor would read."""
        return peek(self.machine, address)

    @property
    def frame(self) -> NDArray[np.uint8]:
        """The shades of the last frame, `(144, 160)` or `(72, 80)`."""
        height, width = (72, 80) if self.drawn == at.HALF else (144, 160)
        return unpack_pixels(self.frame_data.reshape(height, -1), width)

    @property
    def registers(self) -> dict[str, int]:
        """The processor's registers by name."""
        values = int(self.words[at.REGISTERS])
        found = {name: (values >> (56 - 8 * index)) & 255 for index, name in enumerate("bcdehlfa")}
        return found | {"pc": int(self.words[at.PC]), "sp": int(self.words[at.SP])}

    def serial(self) -> Iterator[int]:
        """Return the last bytes that were sent, at most `SERIAL_BYTES`."""
        sent = int(self.words[at.SENT])
        for index in range(max(0, sent - at.SERIAL_BYTES), sent):
            yield int(self.bytes[at.SERIAL + index % at.SERIAL_BYTES])
