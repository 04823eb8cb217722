"""Draws lines of the screen, 2 bits per pixel, directly into the frame that `Machine.out` names.

Nothing is kept of a line: the ten sprites are numbers of 6 bits in one integer, so that a device needs no local array.
"""

from __future__ import annotations

from .compiled import called, inlined
from .layout import HALF, HIGH_PAGE, OAM, VIDEO, WINDOW_LINE, WINDOW_MET, Machine
from .memory import byte, set_word, store_byte, store_word, word
from .registers import BGP, LCDC, OBP0, SCX, SCY, WX, WY

MOST_SPRITES = 10


@inlined
def frame_bytes(m: Machine) -> int:
    """Return the size of the frame that is drawn, a multiple of 8."""
    return 72 * 20 if m.drawn == HALF else 144 * 40


@inlined
def clear_frame(m: Machine) -> None:
    """Draw a white frame."""
    for place in range(0, frame_bytes(m), 8):
        store_word(m.out + place, 0)


@called
def begin_frame(m: Machine) -> None:
    """Begin a frame, which is white until its lines are drawn."""
    set_word(m, WINDOW_LINE, 0)
    set_word(m, WINDOW_MET, 0)
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
    number = byte(m, VIDEO + 0x1800 + 0x400 * second + 32 * row + column)
    if control & 0x10:
        return VIDEO + 16 * number
    return VIDEO + 0x1000 + 16 * (number if number < 128 else number - 256)


@inlined
def sprites_of(m: Machine, line: int, control: int) -> int:
    """Return the sprites of a line by priority, 6 bits each: 1 + the number in the lowest bits is in front."""
    height, found, count = 16 if control & 4 else 8, 0, 0
    for number in range(40):
        place = OAM + 4 * number
        if count < MOST_SPRITES and 0 <= line + 16 - byte(m, place) < height:
            count += 1
            column, shift = byte(m, place + 1), 0
            while (found >> shift) & 63 and byte(m, OAM + 4 * (((found >> shift) & 63) - 1) + 1) <= column:
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
    return tile_color(m, VIDEO + 16 * tile, row, column)


@inlined
def with_sprites(m: Machine, sprites: int, line: int, x: int, control: int, color: int, shade: int) -> int:
    """Return the shade of a pixel, given the color number and shade of what lies behind the sprites."""
    left = sprites
    while left:
        place = OAM + 4 * ((left & 63) - 1)
        column = x + 8 - byte(m, place + 1)
        if 0 <= column < 8:
            found = sprite_color(m, place, line, x, control)
            if found:
                flags = byte(m, place + 3)
                if flags & 0x80 and color:
                    return shade
                return (byte(m, HIGH_PAGE + OBP0 + ((flags >> 4) & 1)) >> (2 * found)) & 3
        left >>= 6
    return shade


@called
def draw_line(m: Machine, line: int) -> None:
    """Draw a line as the registers are now, if the frame has it, and count the window's lines."""
    control = byte(m, HIGH_PAGE + LCDC)
    if byte(m, HIGH_PAGE + WY) == line:
        set_word(m, WINDOW_MET, 1)
    edge = byte(m, HIGH_PAGE + WX) - 7
    if not (control & 0x21 == 0x21 and word(m, WINDOW_MET) and edge < 160):
        edge = 160
    window = word(m, WINDOW_LINE)
    if edge < 160:
        set_word(m, WINDOW_LINE, window + 1)
    if m.drawn == HALF and line & 1:
        return
    sprites = sprites_of(m, line, control) if control & 2 else 0
    row, scroll = (line + byte(m, HIGH_PAGE + SCY)) & 255, byte(m, HIGH_PAGE + SCX)
    second, second_of_window = (control >> 3) & 1, (control >> 6) & 1
    palette = byte(m, HIGH_PAGE + BGP)
    out = m.out + (20 * (line >> 1) if m.drawn == HALF else 40 * line)
    packed, shift, tile, cell = 0, 0, 0, -1
    for x in range(0, 160, 2 if m.drawn == HALF else 1):
        column, pixel_row = (x + scroll) & 255, row
        inside = x >= edge
        if inside:
            column, pixel_row = x - edge, window
        here = (column >> 3) | (int(inside) << 8)
        if here != cell:
            cell = here
            tile = map_tile(m, control, second_of_window if inside else second, pixel_row >> 3, column >> 3)
        color, shade = 0, 0
        if control & 1:
            color = tile_color(m, tile, pixel_row & 7, column & 7)
            shade = (palette >> (2 * color)) & 3
        if sprites:
            shade = with_sprites(m, sprites, line, x, control, color, shade)
        packed |= shade << shift
        shift += 2
        if shift == 8:
            store_byte(out, packed)
            out += 1
            packed, shift = 0, 0
