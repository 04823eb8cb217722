"""What the processor reads and writes at every address, at the time of the access."""

from __future__ import annotations

from ..native import called, inlined
from . import layout as at
from .layout import DIV, DMA, IF, LCDC, LY, LYC, NR52, P1, SB, SC, SOUND_FIRST, STAT, TAC, TIMA, Machine
from .lines import draw_recorded_lines
from .memory import (
    byte,
    load_byte,
    load_word,
    read_cartridge_ram,
    set_byte,
    set_word,
    store_byte,
    store_word,
    word,
    write_cartridge_ram,
    write_mapper,
)
from .screen_timing import (
    copy_bytes,
    copy_sprites,
    dot_of,
    is_locked,
    is_on,
    line_read,
    ram_place,
    read_status,
    refuses_read,
    refuses_write,
    run_screen,
    start_copy,
    write_screen,
)
from .timer import count_timer, end_serial, plan_timer, request, reset_divider, write_serial, write_timer

LOG_WORD = 16
"""Of `FLAT` memory: bytes of an entry of the log of accesses, which follows the 64 KiB and their number."""


@inlined
def read(m: Machine, now: int, address: int) -> int:
    """Return what is read at an address; `now` is the end of the machine cycle."""
    kind = load_byte(m.tables + (address >> 8))
    if kind == at.IN_ROM:
        return load_byte(m.rom + word(m, at.LOW_BANK + (address >> 14)) + (address & 0x3FFF))
    if kind == at.IN_RAM or (kind == at.IN_VIDEO and now < word(m, at.OPEN_UNTIL)):
        return byte(m, ram_place(address))
    if kind == at.IN_HIGH and address >= 0xFF80:
        return byte(m, at.HIGH_PAGE + (address & 0xFF))
    return read_elsewhere(m, now, address)


@inlined
def write(m: Machine, now: int, address: int, value: int) -> None:
    """Write at an address; `now` is the end of the machine cycle."""
    kind = load_byte(m.tables + (address >> 8))
    if kind == at.IN_RAM or (kind == at.IN_VIDEO and now < word(m, at.OPEN_UNTIL)):
        set_byte(m, ram_place(address), value)
    elif kind == at.IN_HIGH and 0xFF80 <= address < 0xFFFF:
        set_byte(m, at.HIGH_PAGE + (address & 0xFF), value)
    else:
        write_elsewhere(m, now, address, value)


@inlined
def log_access(m: Machine, now: int, entry: int) -> None:
    """Note an access of `FLAT` memory: its time, then address, value and whether it wrote in one word."""
    count = load_word(m.rom + 0x10000)
    place = m.rom + 0x10008 + LOG_WORD * count
    store_word(place, now)
    store_word(place + 8, entry)
    store_word(m.rom + 0x10000, count + 1)


@called
def catch_up(m: Machine, now: int) -> None:
    """Do what the peripherals do up to a time."""
    count_timer(m, now)
    plan_timer(m)
    run_screen(m, now)
    if word(m, at.SERIAL_END) <= now:
        end_serial(m)
    if word(m, at.DMA_AT) <= now:
        copy_bytes(m, now)


@inlined
def buttons_read(m: Machine) -> int:
    """Return the lowest bits of P1: 0 for what is pressed and selected."""
    chosen, pressed = byte(m, at.HIGH_PAGE + P1), word(m, at.BUTTONS)
    found = 0 if chosen & 0x10 else pressed
    return 15 & ~(found if chosen & 0x20 else found | (pressed >> 4))


@inlined
def note_buttons(m: Machine, before: int) -> None:
    """Request the joypad's interrupt if a line fell."""
    if before & ~buttons_read(m):
        request(m, 16)


@called
def press(m: Machine, buttons: int) -> None:
    before = buttons_read(m)
    set_word(m, at.BUTTONS, buttons)
    note_buttons(m, before)


@called
def read_register(m: Machine, now: int, place: int) -> int:
    """Return what is read at FF00-FF7F."""
    ones = load_byte(m.tables + at.READS + place)
    if place == P1:
        return ones | (byte(m, at.HIGH_PAGE + P1) & 0x30) | buttons_read(m)
    if place == DIV:
        return ((now + word(m, at.DIVIDER)) >> 8) & 255
    if place == TIMA:
        count_timer(m, now)
    elif place == STAT:
        return ones | read_status(m, now)
    elif place == LY:
        return line_read(dot_of(m, now)) if is_on(m) else 0
    elif place == IF or place == SC or place == SB:
        catch_up(m, now)
    return ones | byte(m, at.HIGH_PAGE + place)


@called
def read_elsewhere(m: Machine, now: int, address: int) -> int:
    """Return what is read where reading is more than a look-up."""
    if m.mapper == at.FLAT:
        value = load_byte(m.rom + address)
        log_access(m, now, address | (value << 16))
        return value
    if address < 0xA000:
        return 255 if refuses_read(m, now, address) else byte(m, ram_place(address))
    if address < 0xC000:
        return read_cartridge_ram(m, address)
    if address < 0xFF00:
        if is_locked(m, now) or refuses_read(m, now, address):
            return 255
        copy_sprites(m, now)
        return byte(m, at.OAM + address - 0xFE00) if address < 0xFEA0 else 0
    return read_register(m, now, address & 0xFF)


@inlined
def write_sound(m: Machine, place: int, value: int) -> None:
    """Write a register of the sound, which is not heard: while it is off, only its switch can be written."""
    if place == NR52:
        set_byte(m, at.HIGH_PAGE + NR52, value & 0x80)
        if not value & 0x80:
            for other in range(SOUND_FIRST, NR52):
                set_byte(m, at.HIGH_PAGE + other, 0)
    elif place >= 0x30 or byte(m, at.HIGH_PAGE + NR52) & 0x80:
        set_byte(m, at.HIGH_PAGE + place, value)


@called
def write_register(m: Machine, now: int, place: int, value: int) -> None:
    """Write at FF00-FF7F or FFFF."""
    set_word(m, at.NEXT, 0)
    if place == DIV:
        reset_divider(m, now)
    elif DIV < place <= TAC:
        write_timer(m, now, place, value)
    elif place == LCDC or place == STAT or place == LYC:
        write_screen(m, now, place, value)
    elif place == SC:
        write_serial(m, now, value)
    elif SOUND_FIRST <= place < 0x40:
        write_sound(m, place, value)
    elif place == P1:
        before = buttons_read(m)
        set_byte(m, at.HIGH_PAGE + P1, value & 0x30)
        note_buttons(m, before)
    elif place == IF:
        catch_up(m, now)
        set_byte(m, at.HIGH_PAGE + IF, value & 31)
    elif place != LY:
        run_screen(m, now)
        if place == DMA:
            start_copy(m, now, value)
        else:
            set_byte(m, at.HIGH_PAGE + place, value)


@called
def write_elsewhere(m: Machine, now: int, address: int, value: int) -> None:
    """Write where writing is more than a store."""
    if m.mapper == at.FLAT:
        store_byte(m.rom + address, value)
        log_access(m, now, address | (value << 16) | (1 << 24))
    elif address < 0x8000:
        if m.mapper != at.PLAIN:
            write_mapper(m, now, address, value)
    elif address < 0xA000:
        if not refuses_write(m, now, address):
            draw_recorded_lines(m)
            set_byte(m, ram_place(address), value)
    elif address < 0xC000:
        write_cartridge_ram(m, now, address, value)
    elif address < 0xFEA0:
        if not (is_locked(m, now) or refuses_write(m, now, address)):
            copy_sprites(m, now)
            draw_recorded_lines(m)
            set_byte(m, at.OAM + address - 0xFE00, value)
    elif address >= 0xFF00:
        write_register(m, now, address & 0xFF, value)
