"""The timing of the screen: which line and mode it is in, and which interrupts it requests.

Times within a line are T-cycles ("dots"). Mode 3 begins at dot 84, and its length depends on the sprites of the line.

Transfers to the sprites' memory (OAM DMA): a byte per machine cycle, copied when the memory is used.
"""

from __future__ import annotations

from ..native import called, inlined
from . import layout as at
from .layout import (
    DMA,
    DMA_AT,
    DMA_BEGIN,
    DMA_COPIED,
    DMA_END,
    FAR,
    HIGH_PAGE,
    LCDC,
    LOW_BANK,
    LYC,
    OAM,
    SCX,
    STAT,
    WX,
    WY,
    Machine,
)
from .lines import begin_frame, draw_line, draw_recorded_lines
from .memory import byte, load_byte, read_cartridge_ram, set_byte, set_word, word
from .timer import request

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


DRAWS = 84
"""The dot at which mode 3 begins."""
EARLY = 4
"""T-cycles by which the interrupt of mode 0 precedes what STAT shows. A line is drawn at its time."""
LEAD = 4
"""T-cycles that line 0 lacks after the screen was switched on."""


@inlined
def is_on(m: Machine) -> bool:
    """Return whether the screen is on."""
    return byte(m, at.HIGH_PAGE + LCDC) & 0x80 != 0


@inlined
def dot_of(m: Machine, now: int) -> int:
    """Return the T-cycles since the frame began."""
    return (now - word(m, at.LCD_BEGIN)) % at.FRAME_CYCLES


@inlined
def line_read(dot: int) -> int:
    """Return LY at a time of the frame: line 153 reads as 0 after a short time."""
    line = dot // at.LINE_CYCLES
    return 0 if line == 153 and dot % at.LINE_CYCLES >= 4 else line


@inlined
def line_matches(m: Machine, dot: int) -> bool:
    """Return whether LY is compared as equal to LYC at a time of the frame."""
    line, column, wanted = dot // at.LINE_CYCLES, dot % at.LINE_CYCLES, byte(m, at.HIGH_PAGE + LYC)
    if line == 153:
        return wanted == 153 if 4 <= column < 8 else wanted == 0 and column >= 12
    return wanted == line and (column >= 4 or line == 0)


@called
def drawn_until(m: Machine, now: int, line: int) -> int:
    """Return the dot at which mode 3 of a line ends, as far as is known now."""
    scroll, control = byte(m, at.HIGH_PAGE + SCX), byte(m, at.HIGH_PAGE + LCDC)
    found, delay = DRAWS + 172 + (scroll & 7), 0
    if control & 0x20 and byte(m, at.HIGH_PAGE + WX) <= 166 and byte(m, at.HIGH_PAGE + WY) <= line:
        delay = 6
    if control & 2:
        copy_sprites(m, now)
        height, count, tiles = 16 if control & 4 else 8, 0, 0
        for place in range(at.OAM, at.OAM + 160, 4):
            if count < 10 and 0 <= line + 16 - byte(m, place) < height:
                count += 1
                column = byte(m, place + 1)
                if column < 168:
                    tile = 1 << ((column + scroll) >> 3)
                    delay += 6 if tiles & tile else 11 - (min(5, (column + scroll) & 7) if column else 0)
                    tiles |= tile
    return found + (delay & ~3)  # window and sprites delay by whole machine cycles


@inlined
def mode_of(m: Machine, now: int, dot: int) -> int:
    """Return the mode at a time of the frame."""
    line, column = dot // at.LINE_CYCLES, dot % at.LINE_CYCLES
    if line >= 144:
        return 1 if line > 144 or column >= 4 else 0
    if column < DRAWS:
        first = now - word(m, at.LCD_BEGIN) < at.LINE_CYCLES
        return 0 if column < 4 or first else 2
    if column >= DRAWS + 172 and column >= drawn_until(m, now, line):
        return 0
    return 3


@inlined
def stay_open(m: Machine, until: int) -> None:
    """Let the processor write without asking up to a time, so draw what is recorded before."""
    draw_recorded_lines(m)
    set_word(m, at.OPEN_UNTIL, until)


@inlined
def refuses(m: Machine, now: int, begins: int, opens: int) -> bool:
    """Return whether the screen refuses an access, from a dot of each line to the end of mode 3.

    On the first line after the screen was switched on, it refuses in mode 3 only. Another line is open again at the
    dots from `opens` to mode 3.
    """
    if not is_on(m):
        stay_open(m, at.FAR)
        return False
    dot = dot_of(m, now)
    line, column = dot // at.LINE_CYCLES, dot % at.LINE_CYCLES
    if line >= 144:
        stay_open(m, now + at.FRAME_CYCLES - dot)
        return False
    if column < begins:
        return False
    if column < DRAWS:
        return column < opens and now - word(m, at.LCD_BEGIN) >= at.LINE_CYCLES
    return column < DRAWS + 172 or column < drawn_until(m, now, line)


@called
def refuses_read(m: Machine, now: int, address: int) -> bool:
    """Return whether the processor cannot read video memory or sprites, because the screen does."""
    return refuses(m, now, DRAWS - 4 if address < 0xA000 else 0, DRAWS)


@called
def refuses_write(m: Machine, now: int, address: int) -> bool:
    """Return whether the processor cannot write video memory or sprites; do what the screen does before."""
    run_screen(m, now)
    return refuses(m, now, DRAWS if address < 0xA000 else 4, DRAWS - 4)


@inlined
def read_status(m: Machine, now: int) -> int:
    """Return STAT."""
    kept = byte(m, at.HIGH_PAGE + STAT) & 0x78
    if not is_on(m):
        return kept | (byte(m, at.HIGH_PAGE + STAT) & 4)
    dot = dot_of(m, now)
    return kept | (4 if line_matches(m, dot) else 0) | mode_of(m, now, dot)


@called
def level(m: Machine, now: int, sources: int) -> int:
    """Return the level of the STAT interrupt's line, given the enabled sources."""
    dot = dot_of(m, now)
    line, column = dot // at.LINE_CYCLES, dot % at.LINE_CYCLES
    if sources & 0x40 and line_matches(m, dot):
        return 1
    if line >= 144:
        if line == 144 and column < 4:
            return 0
        return 1 if sources & 0x10 or (sources & 0x20 and line == 144 and column < 8) else 0
    if sources & 0x20 and column < 8 and (column >= 4 or line > 0) and now - word(m, at.LCD_BEGIN) >= at.LINE_CYCLES:
        return 1
    return 1 if sources & 8 and column >= DRAWS + 168 and column >= drawn_until(m, now, line) - EARLY else 0


@inlined
def set_level(m: Machine, new: int) -> None:
    """Set the level of the STAT interrupt's line, whose rise requests the interrupt."""
    if new and not word(m, at.STAT_LEVEL):
        request(m, 2)
    set_word(m, at.STAT_LEVEL, new)


@inlined
def next_status(m: Machine, now: int, sources: int, dot: int) -> int:
    """Return T-cycles until the STAT interrupt's line may change; FAR if there is no source."""
    if not sources:
        return at.FAR
    line, column = dot // at.LINE_CYCLES, dot % at.LINE_CYCLES
    if sources == 0x40:
        wanted = byte(m, at.HIGH_PAGE + LYC)
        begins = 153 if wanted == 0 else wanted
        if wanted > 153:
            return at.FAR
        lines = (begins - line) % 154
        if lines != 0 and lines != 153 and not (wanted == 0 and line == 0):
            return lines * at.LINE_CYCLES - column
    for edge in (4, 8, 12):
        if column < edge:
            return edge - column
    if sources & 8 and line < 144:
        end = drawn_until(m, now, line) - EARLY
        if column < end:
            return end - column
    return at.LINE_CYCLES - column


@called
def plan_screen(m: Machine, now: int) -> None:
    """Find when the screen next needs attention."""
    found = at.FAR
    if is_on(m):
        dot = dot_of(m, now)
        line, column = dot // at.LINE_CYCLES, dot % at.LINE_CYCLES
        found = (at.BLANK - dot if dot < at.BLANK else at.BLANK + at.FRAME_CYCLES - dot) + now
        found = min(found, now + next_status(m, now, byte(m, at.HIGH_PAGE + STAT) & 0x78, dot))
        if m.drawn != at.HIDDEN:
            lines = 0 if line < 144 and column < DRAWS else 1 if line < 143 else 154 - line
            found = min(found, now + lines * at.LINE_CYCLES + DRAWS - column)
            if word(m, at.DRAW_AT) > now:
                found = min(found, word(m, at.DRAW_AT))
    set_word(m, at.LCD_NEXT, found)


@inlined
def attend_line(m: Machine, now: int, line: int, column: int) -> None:
    """Find when a line is drawn, at the beginning of its mode 3; draw it then."""
    if column == DRAWS:
        set_word(m, at.DRAW_AT, now - DRAWS + drawn_until(m, now, line) - EARLY)
    elif now == word(m, at.DRAW_AT):
        if line == 0:
            begin_frame(m)
        if now >= word(m, at.LCD_FIRST):
            copy_sprites(m, now)
            draw_line(m, line)


@called
def run_screen(m: Machine, now: int) -> None:
    """Do what the screen does up to a time."""
    while word(m, at.LCD_NEXT) <= now:
        event = word(m, at.LCD_NEXT)
        dot = dot_of(m, event)
        if dot == at.BLANK:
            request(m, 1)
            set_word(m, at.FRAMES, word(m, at.FRAMES) + 1)
        if m.drawn != at.HIDDEN and dot < 144 * at.LINE_CYCLES:
            attend_line(m, event, dot // at.LINE_CYCLES, dot % at.LINE_CYCLES)
        set_level(m, level(m, event, byte(m, at.HIGH_PAGE + STAT) & 0x78))
        plan_screen(m, event)


@called
def write_screen(m: Machine, now: int, place: int, value: int) -> None:
    """Write LCDC, STAT or LYC."""
    run_screen(m, now)
    set_word(m, at.OPEN_UNTIL, 0)
    was_on = is_on(m)
    if place == STAT:
        if was_on:  # for a moment, all sources are enabled
            set_level(m, level(m, now, value | 0x78))
        value = (value & 0x78) | (byte(m, at.HIGH_PAGE + STAT) & 7)
    set_byte(m, at.HIGH_PAGE + place, value)
    if is_on(m) and not was_on:
        set_word(m, at.LCD_BEGIN, now - LEAD)
        set_word(m, at.LCD_FIRST, now - LEAD + at.BLANK)
        begin_frame(m)
    if is_on(m):
        set_level(m, level(m, now, byte(m, at.HIGH_PAGE + STAT) & 0x78))
    elif was_on:
        begin_frame(m)
        set_word(m, at.DRAW_AT, at.FAR)
        matched = 4 if line_matches(m, dot_of(m, now)) else 0
        set_byte(m, at.HIGH_PAGE + STAT, (byte(m, at.HIGH_PAGE + STAT) & 0x78) | matched)
        set_word(m, at.STAT_LEVEL, (matched >> 2) & (byte(m, at.HIGH_PAGE + STAT) >> 6))
    plan_screen(m, now)
