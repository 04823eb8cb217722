"""Draws registers, code, sprites and memory of a console as text, for inspectors."""

from __future__ import annotations

from ..fields import Array
from ..native import compiled, inlined
from . import looks as at
from .arithmetic import af, pair
from .assembler import LENGTH, PAIR, PREFIX, TARGET, TEXT_COLUMNS
from .bus import read_register
from .layout import (
    BGP,
    CARTRIDGE_RAM,
    CLOCK,
    DIV,
    FRAMES,
    HALTED,
    HIGH_PAGE,
    IE,
    IF,
    INTERRUPTS_ON,
    LCDC,
    LOW_BANK,
    LY,
    OAM,
    PC,
    RAM_BANK,
    REGISTERS,
    SCX,
    SCY,
    SP,
    STAT,
    TAC,
    TIMA,
    TMA,
    WX,
    WY,
    Machine,
)
from .looks import Looks
from .memory import byte, load_byte, word
from .screen_timing import ram_place

SPACE, ZERO, LETTERS, DOLLAR, HERE = 32, 48, 55, 36, 62
PAIR_DIGITS, BYTE_DIGITS = 4, 2


@inlined
def memory_byte(m: Machine, address: int) -> int:
    """Return a byte of memory; registers of the hardware as they are stored."""
    if address < 0x8000:
        return load_byte(m.rom + word(m, LOW_BANK + (address >> 14)) + (address & 0x3FFF))
    if address < 0xA000 or 0xC000 <= address < 0xFE00:
        return byte(m, ram_place(address))
    if address < 0xC000:
        bank = word(m, RAM_BANK)
        return byte(m, CARTRIDGE_RAM + ((bank + (address & 0x1FFF)) & (m.ram_bytes - 1))) if bank >= 0 else 255
    if address < 0xFF00:
        return byte(m, OAM + address - 0xFE00) if address < 0xFEA0 else 0
    return byte(m, HIGH_PAGE + (address & 0xFF))


@compiled
def write_hex(line: Array, place: int, digits: int, value: int) -> None:
    for index in range(digits):
        digit = (value >> (4 * (digits - 1 - index))) & 15
        line[place + index] = ZERO + digit if digit < 10 else LETTERS + digit


@compiled
def write_decimal(line: Array, place: int, digits: int, value: int) -> None:
    """Write a number at the left of `digits` columns."""
    size, rest = 1, value // 10
    while rest and size < digits:
        size, rest = size + 1, rest // 10
    for index in range(size):
        line[place + size - 1 - index] = ZERO + value % 10
        value //= 10


@compiled
def draw_registers(m: Machine, looks: Looks, board: Array) -> None:
    """Draw the registers of processor and hardware, and the counters."""
    for row in range(at.REGISTER_LINES):
        for column in range(at.COLUMNS):
            board[row, column] = looks.registers[row, column]
    registers, now = word(m, REGISTERS), word(m, CLOCK)
    write_hex(board[0], at.AT_PC, 4, word(m, PC))
    write_hex(board[0], at.AT_SP, 4, word(m, SP))
    write_hex(board[0], at.AT_IME, 1, word(m, INTERRUPTS_ON))
    write_hex(board[0], at.AT_HALT, 1, word(m, HALTED))
    write_hex(board[1], at.AT_AF, 4, af(registers))
    write_hex(board[1], at.AT_BC, 4, pair(registers, 0))
    write_hex(board[1], at.AT_DE, 4, pair(registers, 1))
    write_hex(board[1], at.AT_HL, 4, pair(registers, 2))
    for place, register in ((at.AT_LY, LY), (at.AT_LCDC, LCDC), (at.AT_STAT, STAT)):
        write_hex(board[2], place, 2, read_register(m, now, register))
    for place, register in ((at.AT_IE, IE), (at.AT_IF, IF)):
        write_hex(board[2], place, 2, byte(m, HIGH_PAGE + register))
    for place, register in ((at.AT_SCX, SCX), (at.AT_SCY, SCY), (at.AT_WX, WX), (at.AT_WY, WY), (at.AT_BGP, BGP)):
        write_hex(board[3], place, 2, byte(m, HIGH_PAGE + register))
    for place, register in ((at.AT_DIV, DIV), (at.AT_TIMA, TIMA), (at.AT_TMA, TMA), (at.AT_TAC, TAC)):
        write_hex(board[4], place, 2, read_register(m, now, register))
    write_decimal(board[5], at.AT_CYCLES, at.CYCLE_DIGITS, now)
    write_decimal(board[5], at.AT_FRAMES, at.FRAME_DIGITS, word(m, FRAMES))


@compiled
def draw_instruction(m: Machine, looks: Looks, address: int, line: Array) -> int:
    """Draw an address, the bytes of the instruction there, and its text; return the address after it."""
    for column in range(at.COLUMNS):
        line[column] = SPACE
    code = memory_byte(m, address)
    row = looks.codes[256 + memory_byte(m, (address + 1) & 0xFFFF) if code == PREFIX else code]
    length = int(row[LENGTH])
    write_hex(line, 0, PAIR_DIGITS, address)
    for index in range(length):
        write_hex(line, at.AT_CODE_BYTES + 3 * index, BYTE_DIGITS, memory_byte(m, (address + index) & 0xFFFF))
    operand = memory_byte(m, (address + 1) & 0xFFFF)
    place = at.AT_CODE_TEXT
    for index in range(TEXT_COLUMNS):
        letter = int(row[index])
        if place >= at.COLUMNS:  # only spaces follow
            break
        if letter > TARGET:
            line[place] = letter
            place += 1
            continue
        if letter == PAIR:
            operand |= memory_byte(m, (address + 2) & 0xFFFF) << 8
        elif letter == TARGET:
            operand = (address + length + (operand if operand < 128 else operand - 256)) & 0xFFFF
        digits = PAIR_DIGITS if letter >= PAIR else BYTE_DIGITS
        line[place] = DOLLAR
        write_hex(line, place + 1, digits, operand)
        place += digits + 1
    return (address + length) & 0xFFFF


@compiled
def draw_code(m: Machine, looks: Looks, board: Array) -> None:
    """Draw the instructions from PC on, after lines for the last ones, which are left blank."""
    address = word(m, PC)
    for row in range(board.shape[0]):
        if row < at.LAST_LINES:
            for column in range(at.COLUMNS):
                board[row, column] = SPACE
        else:
            address = draw_instruction(m, looks, address, board[row])
    board[at.LAST_LINES, PAIR_DIGITS] = HERE


@compiled
def draw_sprites(m: Machine, looks: Looks, board: Array) -> None:
    """Draw the table of sprites: number, x, y, tile and flags."""
    for row in range(at.SPRITE_LINES):
        for column in range(at.COLUMNS):
            board[row, column] = SPACE if row else looks.sprites[column]
    for number in range(40):
        row, column = 1 + number // at.SPRITES_PER_LINE, number % at.SPRITES_PER_LINE * at.SPRITE_COLUMNS
        write_hex(board[row], column, 2, number)
        for index in range(4):
            place = OAM + 4 * number + (1 - index if index < 2 else index)
            write_hex(board[row], column + 3 + 3 * index, 2, byte(m, place))


@compiled
def draw_memory(m: Machine, address: int, board: Array) -> None:
    for row in range(board.shape[0]):
        for column in range(board.shape[1]):
            board[row, column] = SPACE
        first = (address + at.BYTES_PER_LINE * row) & 0xFFFF
        write_hex(board[row], 0, 4, first)
        for index in range(at.BYTES_PER_LINE):
            write_hex(board[row], 5 + 3 * index, 2, memory_byte(m, (first + index) & 0xFFFF))
