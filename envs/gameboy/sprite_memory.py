"""Transfers to the sprites' memory (OAM DMA): a byte per machine cycle, copied when the memory is used."""

from __future__ import annotations

from ..native import called, inlined
from .cartridge_memory import read_cartridge_ram
from .layout import DMA_AT, DMA_BEGIN, DMA_COPIED, DMA_END, FAR, HIGH_PAGE, LOW_BANK, OAM, Machine
from .lines import draw_recorded_lines
from .memory import byte, load_byte, set_byte, set_word, word
from .registers import DMA

BYTES = 160
FIRST = 8
"""T-cycles from the write that starts a transfer to its first byte."""


@inlined
def ram_place(address: int) -> int:
    """Return the place of an address of video or work RAM."""
    return ((address & 0x4000) >> 1) | (address & 0x1FFF)


@inlined
def is_locked(m: Machine, now: int) -> bool:
    """Return whether a transfer locks the sprites' memory."""
    return word(m, DMA_BEGIN) < now <= word(m, DMA_END)


@called
def copy_bytes(m: Machine, now: int) -> None:
    """Copy what the transfer in progress has copied up to a time."""
    draw_recorded_lines(m)
    page = byte(m, HIGH_PAGE + DMA)
    source = (page if page < 0xE0 else page - 0x20) << 8
    begin, until = word(m, DMA_COPIED), min(BYTES, BYTES - ((word(m, DMA_AT) - now + 3) >> 2))
    if source < 0x8000:
        place = m.rom + word(m, LOW_BANK + (source >> 14)) + (source & 0x3FFF)
        for index in range(begin, until):
            set_byte(m, OAM + index, load_byte(place + index))
    elif 0xA000 <= source < 0xC000:
        for index in range(begin, until):
            set_byte(m, OAM + index, read_cartridge_ram(m, source + index))
    else:
        place = ram_place(source)
        for index in range(begin, until):
            set_byte(m, OAM + index, byte(m, place + index))
    set_word(m, DMA_COPIED, max(begin, until))
    if until == BYTES:
        set_word(m, DMA_AT, FAR)


@inlined
def copy_sprites(m: Machine, now: int) -> None:
    """Bring the sprites' memory up to a time."""
    if word(m, DMA_AT) != FAR:
        copy_bytes(m, now)


@inlined
def start_copy(m: Machine, now: int, page: int) -> None:
    """Start a transfer from a page to the sprites' memory, which is locked from the next machine cycle on."""
    copy_sprites(m, now)
    set_byte(m, HIGH_PAGE + DMA, page)
    if not is_locked(m, now):
        set_word(m, DMA_BEGIN, now + 4)
    set_word(m, DMA_COPIED, 0)
    set_word(m, DMA_AT, now + FIRST + 4 * (BYTES - 1))
    set_word(m, DMA_END, now + FIRST + 4 * (BYTES - 1))
