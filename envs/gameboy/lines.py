"""Draws lines of the screen, 2 bits per pixel, directly into the frame that `Machine.out` names.

Two words say how a line is drawn from the memory of tiles and sprites: its registers, and its ten sprites, which are
numbers of 6 bits, so that a device needs no local array. A `RecordingMachine` records the words in its state. Before
this memory changes, `draw_recorded_lines` draws the lines that were recorded with what it contained.
"""

from __future__ import annotations

from ..native import called, inlined
from . import layout as at
from .layout import BGP, LCDC, OBP0, OBP1, SCX, SCY, WX, WY, Machine
from .memory import byte, records, set_word, store_byte, store_word, word

MOST_SPRITES = 10
NO_WINDOW = 167
"""WX of a line without the window."""


@inlined
def frame_bytes(m: Machine) -> int:
    """Return the size of the frame that is drawn, a multiple of 8."""
    return 144 * 40 if m.drawn == at.WHOLE else 72 * 20


@inlined
def clear_frame(m: Machine) -> None:
    """Draw a white frame, of which no line is recorded."""
    for place in range(0, frame_bytes(m), 8):
        store_word(m.out + place, 0)
    if records(m):
        set_word(m, at.FIRST_LINE, 0)
        set_word(m, at.END_LINE, 0)


@called
def begin_frame(m: Machine) -> None:
    """Begin a frame, which is white until its lines are drawn."""
    set_word(m, at.WINDOW_LINE, 0)
    set_word(m, at.WINDOW_MET, 0)
    if m.drawn:
        clear_frame(m)


@inlined
def tile_color(m: Machine, tile: int, row: int, column: int) -> int:
    """Return the color number of a pixel of the tile at a place of the video memory."""
    place = tile + 2 * row
    shift = 7 - column
    return ((byte(m, place) >> shift) & 1) | (((byte(m, place + 1) >> shift) & 1) << 1)


@inlined
def map_tile(m: Machine, control: int, second: int, row: int, column: int) -> int:
    """Return where the tile in a cell of one of both maps begins."""
    number = byte(m, at.VIDEO + 0x1800 + 0x400 * second + 32 * row + column)
    if control & 0x10:
        return at.VIDEO + 16 * number
    return at.VIDEO + 0x1000 + 16 * (number if number < 128 else number - 256)


@inlined
def sprites_of(m: Machine, line: int, control: int) -> int:
    """Return the sprites of a line by priority, 6 bits each: 1 + the number in the lowest bits is in front."""
    height, found, count = 16 if control & 4 else 8, 0, 0
    for number in range(40):
        place = at.OAM + 4 * number
        if count < MOST_SPRITES and 0 <= line + 16 - byte(m, place) < height:
            count += 1
            column, shift = byte(m, place + 1), 0
            while (found >> shift) & 63 and byte(m, at.OAM + 4 * (((found >> shift) & 63) - 1) + 1) <= column:
                shift += 6
            kept = (1 << shift) - 1
            found = (found & kept) | ((number + 1) << shift) | ((found & ~kept) << 6)
    return found


@inlined
def sprite_color(m: Machine, place: int, line: int, x: int, control: int) -> int:
    """Return the color number of a sprite at a pixel."""
    flags, row, column = byte(m, place + 3), line + 16 - byte(m, place), x + 8 - byte(m, place + 1)
    tile, height = byte(m, place + 2), 8
    if control & 4:
        tile, height = tile & 0xFE, 16
    if flags & 0x40:
        row = height - 1 - row
    if flags & 0x20:
        column = 7 - column
    return tile_color(m, at.VIDEO + 16 * tile, row, column)


@inlined
def with_sprites(m: Machine, sprites: int, line: int, x: int, registers: int, color: int, shade: int) -> int:
    """Return the shade of a pixel, given the color number and shade of what lies behind the sprites."""
    left = sprites
    while left:
        place = at.OAM + 4 * ((left & 63) - 1)
        column = x + 8 - byte(m, place + 1)
        if 0 <= column < 8:
            found = sprite_color(m, place, line, x, registers & 255)
            if found:
                flags = byte(m, place + 3)
                if flags & 0x80 and color:
                    return shade
                return (registers >> (32 + ((flags >> 1) & 8) + 2 * found)) & 3
        left >>= 6
    return shade


@inlined
def window_of(m: Machine, line: int, control: int) -> int:
    """Return WX and, in the next byte, the line of the window; count the window's lines."""
    if byte(m, at.HIGH_PAGE + WY) == line:
        set_word(m, at.WINDOW_MET, 1)
    left, window = byte(m, at.HIGH_PAGE + WX), word(m, at.WINDOW_LINE)
    if not (control & 0x21 == 0x21 and word(m, at.WINDOW_MET) and left < NO_WINDOW):
        return NO_WINDOW
    set_word(m, at.WINDOW_LINE, window + 1)
    return left | ((window & 255) << 8)


@inlined
def registers_of(m: Machine, line: int, control: int, window: int) -> int:
    """Return LCDC, SCX, the background's row, BGP, OBP0, OBP1 and what `window_of` returns, from the lowest byte."""
    row = (line + byte(m, at.HIGH_PAGE + SCY)) & 255
    scroll, palette = byte(m, at.HIGH_PAGE + SCX), byte(m, at.HIGH_PAGE + BGP)
    palettes = byte(m, at.HIGH_PAGE + OBP0) | (byte(m, at.HIGH_PAGE + OBP1) << 8)
    return control | (scroll << 8) | (row << 16) | (palette << 24) | (palettes << 32) | (window << 48)


@called
def draw_line(m: Machine, line: int) -> None:
    """Draw or record a line as the registers are now, if the frame has it, and count the window's lines."""
    control = byte(m, at.HIGH_PAGE + LCDC)
    window = window_of(m, line, control)
    if m.drawn != at.WHOLE and line & 1:
        return
    registers = registers_of(m, line, control, window)
    sprites = sprites_of(m, line, control) if control & 2 else 0
    if records(m):
        record_line(m, line >> 1, registers, sprites)
    else:
        draw_pixels(m, line, registers, sprites, 0, 160)


@inlined
def record_line(m: Machine, index: int, registers: int, sprites: int) -> None:
    """Record how a line of the frame is drawn."""
    if index != word(m, at.END_LINE):
        draw_recorded_lines(m)
        set_word(m, at.FIRST_LINE, index)
    set_word(m, at.LINES + 2 * index, registers)
    set_word(m, at.LINES + 2 * index + 1, sprites)
    set_word(m, at.END_LINE, index + 1)


@inlined
def draw_recorded(m: Machine, index: int, begin: int, end: int) -> None:
    """Draw columns of a recorded line of the frame."""
    draw_pixels(m, 2 * index, word(m, at.LINES + 2 * index), word(m, at.LINES + 2 * index + 1), begin, end)


@inlined
def draw_recorded_byte(m: Machine, place: int) -> None:
    """Draw a byte of the frame, if its line is recorded and not drawn yet."""
    index = place // 20
    if word(m, at.FIRST_LINE) <= index < word(m, at.END_LINE):
        begin = 8 * (place % 20)
        draw_recorded(m, index, begin, begin + 8)


@called
def draw_recorded_lines(m: Machine) -> None:
    """Draw the recorded lines, before the memory of tiles or sprites changes."""
    if records(m):
        end = word(m, at.END_LINE)
        for index in range(word(m, at.FIRST_LINE), end):
            draw_recorded(m, index, 0, 160)
        set_word(m, at.FIRST_LINE, end)


@inlined
def draw_pixels(m: Machine, line: int, registers: int, sprites: int, begin: int, end: int) -> None:
    """Draw columns of a line of the screen: whole bytes."""
    half = m.drawn != at.WHOLE
    control, scroll, row = registers & 255, (registers >> 8) & 255, (registers >> 16) & 255
    palette = (registers >> 24) & 255
    edge, window = ((registers >> 48) & 255) - 7, (registers >> 56) & 255
    second, second_of_window = (control >> 3) & 1, (control >> 6) & 1
    out = m.out + (20 * (line >> 1) + (begin >> 3) if half else 40 * line + (begin >> 2))
    packed, shift, tile, cell = 0, 0, 0, -1
    for x in range(begin, end, 2 if half else 1):
        column, pixel_row = (x + scroll) & 255, row
        inside = x >= edge
        if inside:
            column, pixel_row = x - edge, window
        here = (column >> 3) | (int(inside) << 8)
        if here != cell:
            cell = here
            tile = map_tile(m, control, second_of_window if inside else second, pixel_row >> 3, column >> 3)
        color = tile_color(m, tile, pixel_row & 7, column & 7) if control & 1 else 0
        shade = (palette >> (2 * color)) & 3
        if sprites:
            shade = with_sprites(m, sprites, line, x, registers, color, shade)
        packed |= shade << shift
        shift += 2
        if shift == 8:
            store_byte(out, packed)
            out += 1
            packed, shift = 0, 0
