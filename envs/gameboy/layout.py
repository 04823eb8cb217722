"""The memory layout of one console.

The state of a console is one block: 64-bit words, then bytes. Kernels address it only through `memory.py`. On a GPU,
states that were interleaved by warp were no faster (docs/device.md).
"""

from __future__ import annotations

from typing import NamedTuple

# Words. The first ones are the processor's.
REGISTERS = 0  # B C D E H L F A, from the highest byte to the lowest
PC = 1
SP = 2
CLOCK = 3  # T-cycles since power on
NEXT = 4  # the time at which peripherals or interrupts need attention; 0 for at once
LOW_BANK = 5  # where ROM at 0000-3FFF begins in the file
HIGH_BANK = 6  # where ROM at 4000-7FFF begins
INTERRUPTS_ON = 7  # IME
ENABLING = 8  # instructions until EI takes effect, counted from 2
HALTED = 9
REPEATS = 10  # whether the byte after HALT is read twice
LOCKED = 11  # whether an illegal instruction stopped the processor

# Peripherals.
DIVIDER = 12  # the divider counts CLOCK + DIVIDER
TIMER_AT = 13  # the time up to which TIMA is counted
RELOAD = 14  # when TIMA is loaded from TMA after an overflow, or FAR
RELOADED = 15  # when it was last loaded
SERIAL_END = 16  # when a transfer ends, or FAR
SENT = 17  # bytes sent
DMA_END = 18
LCD_BEGIN = 19  # when line 0 of the first frame since the screen was switched on began
LCD_FIRST = 20  # when the first, white frame ends
STAT_LEVEL = 21  # the level of the STAT interrupt's line
LCD_NEXT = 22
TIMER_NEXT = 23
WINDOW_LINE = 24  # lines of the window drawn in this frame
WINDOW_MET = 25  # whether a line of this frame was WY
BUTTONS = 26  # pressed ones: right left up down A B Select Start, from the lowest bit
FRAMES = 27  # times that the vertical blank began
STOP = 28  # when `run` returns

# Cartridge.
RAM_BANK = 29  # where RAM at A000-BFFF begins; NO_RAM, or CLOCK_RAM + the register of a clock
RAM_ON = 30
BANK_LOW = 31
BANK_HIGH = 32
BANK_MODE = 33
LATCHED = 34  # the latched clock: seconds, minutes, hours, low and high byte of the days, from the lowest byte
LATCH = 35
CLOCK_ZERO = 36  # the time at which the cartridge's clock is 0
CLOCK_HELD = 37  # seconds of the stopped clock, or -1

# The episode.
RUN_SEED = 38
EPISODES = 39
STEPS = 40
RETURN = 41  # a float64
STAGE = 42  # goal pictures that were reached
DISTANCE = 43  # from the next one
FIRST_DISTANCE = 44  # when the stage began
DMA_AT = 47  # when the last byte of a transfer to the sprites' memory is copied, or FAR
DMA_BEGIN = 48  # their memory is locked after this time
DMA_COPIED = 49  # bytes of the transfer that are copied
DRAW_AT = 50  # when the line whose mode 3 began last is drawn
OPEN_UNTIL = 51  # the screen is known to refuse no access before this time
WORDS = 56

NO_RAM = -1
CLOCK_RAM = -16

# Bytes. Video and work RAM lie so that one formula maps their addresses.
VIDEO = 0x0000
WORK = 0x2000
HIGH_PAGE = 0x4000  # FF00-FFFF
OAM = 0x4100
SERIAL = 0x41A0
SERIAL_BYTES = 64
FRAME = 0x41E0
FRAME_BYTES = 72 * 20
FARTHEST = 3 * 72 * 80  # the largest distance of two pictures
CARTRIDGE_RAM = FRAME + FRAME_BYTES

# Words that are in place of the last frame during a step that draws its lines later.
LINES = WORDS + FRAME // 8  # two for each recorded line, see `lines.py`
FIRST_LINE = LINES + 2 * 72  # the first recorded line that is not drawn yet
END_LINE = FIRST_LINE + 1  # one past the last one
WHY = END_LINE + 1  # why `run` returned

FAR = 1 << 60
FRAME_CYCLES = 70_224
LINE_CYCLES = 456
BLANK = 144 * LINE_CYCLES + 4
"""When in a frame the vertical blank begins."""

# Cartridges.
PLAIN, MBC1, MBC1M, MBC3, MBC5, FLAT = 0, 1, 2, 3, 5, 9
"""Kinds of cartridges. `MBC1M` is MBC1 with several games of 256 KiB. `FLAT` is 64 KiB of RAM, for tests."""

# Parts of the tables.
KINDS = 0  # the kind of memory of each page
CLASSES = 256  # the class of each operation
READS = 512  # bits that read as 1, for FF00-FF7F
TABLE_BYTES = 640

# Kinds of memory.
IN_ROM, IN_RAM, IN_HIGH, IN_VIDEO, ELSEWHERE = 0, 1, 2, 3, 4

# Why `run` returns.
IN_TIME, BLANKED, STUCK = 1, 2, 3

HIDDEN, WHOLE, HALF = 0, 1, 2
"""What is drawn of a frame: nothing, 160 x 144 pixels, or every second pixel of every second line."""


class Machine(NamedTuple):
    """What kernels need to know of a console. Addresses are those of the memory of this process.

    Attributes:
        words: Address of the state, whose words come first.
        rom: Address of the cartridge's ROM, padded to whole banks.
        tables: Address of the tables.
        mapper: Kind of the cartridge.
        rom_mask: Number of ROM banks - 1.
        ram_bytes: Bytes of the cartridge's RAM, a power of two or 0.
        top: The first address from which instructions are not read from ROM.
        out: Address of the frame to draw, 2 bits per pixel.
    """

    words: int
    rom: int
    tables: int
    mapper: int
    rom_mask: int
    ram_bytes: int
    top: int
    out: int
    drawn: int


class RecordingMachine(Machine):
    """A console that records lines instead of drawing them; a type, so that kernels of other ones need not ask."""


def block_bytes(ram_bytes: int) -> int:
    """Return the size of a console's state, a multiple of 8 bytes."""
    return 8 * WORDS + CARTRIDGE_RAM + ram_bytes


P1, SB, SC = 0x00, 0x01, 0x02
DIV, TIMA, TMA, TAC, IF = 0x04, 0x05, 0x06, 0x07, 0x0F
SOUND_FIRST, NR52 = 0x10, 0x26
LCDC, STAT, SCY, SCX, LY, LYC, DMA = 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46
BGP, OBP0, OBP1, WY, WX = 0x47, 0x48, 0x49, 0x4A, 0x4B
IE = 0xFF
