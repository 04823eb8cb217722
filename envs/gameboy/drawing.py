"""Draws the boards of an environment."""

from __future__ import annotations

import numpy as np

from ..fields import Array
from . import looks as at
from .arithmetic import af, pair
from .bus import ram_place, read_register
from .compiled import compiled, inlined
from .layout import (
    CARTRIDGE_RAM,
    CLOCK,
    DISTANCE,
    FIRST_DISTANCE,
    FRAME,
    FRAME_BYTES,
    HALTED,
    HIGH_PAGE,
    INTERRUPTS_ON,
    LOW_BANK,
    OAM,
    PC,
    RAM_BANK,
    REGISTERS,
    SP,
    STAGE,
    Machine,
)
from .memory import byte, load_byte, word
from .registers import IE, IF, LCDC, LY, STAT
from .views import GameBoards, GameViews

FARTHEST = np.float32(3 * 72 * 80)


@inlined
def memory_byte(m: Machine, address: int) -> int:
    """Return a byte of memory; registers of the hardware as they are stored."""
    if address < 0x8000:
        return load_byte(m.rom + word(m, LOW_BANK + (address >> 14)) + (address & 0x3FFF))
    if address < 0xA000 or 0xC000 <= address < 0xFE00:
        return byte(m, ram_place(address))
    if address < 0xC000:
        bank = word(m, RAM_BANK)
        return byte(m, CARTRIDGE_RAM + (bank + (address & 0x1FFF)) % m.ram_bytes) if bank >= 0 else 255
    if address < 0xFF00:
        return byte(m, OAM + address - 0xFE00) if address < 0xFEA0 else 0
    return byte(m, HIGH_PAGE + (address & 0xFF))


@compiled
def value_of(m: Machine, values: Array, index: int) -> int:
    """Return a number in memory; digits that are not decimal count as 0."""
    found, size, kind = 0, values[index, 1], values[index, 2]
    for place in range(size):
        one = memory_byte(m, (values[index, 0] + place) & 0xFFFF)
        if kind == 0:
            found |= one << (8 * min(place, 7))
        elif kind == 1:
            found = 100 * found + 10 * (one >> 4 if one >> 4 < 10 else 0) + (one & 15 if one & 15 < 10 else 0)
        else:
            found = 10 * found + (one & 15 if one < 0x80 and one & 15 < 10 else 0)
    return found


@compiled
def write_hex(line: Array, place: int, digits: int, value: int) -> None:
    """Write a number in hexadecimal digits."""
    for index in range(digits):
        digit = (value >> (4 * (digits - 1 - index))) & 15
        line[place + index] = 48 + digit if digit < 10 else 55 + digit


@compiled
def draw_machine(m: Machine, template: Array, page: int, board: Array) -> None:
    """Draw registers, the code at PC and a page of memory."""
    for row in range(at.LINES):
        for column in range(at.COLUMNS):
            board[row, column] = template[row, column]
    registers, pc, now = word(m, REGISTERS), word(m, PC), word(m, CLOCK)
    write_hex(board[0], at.AT_PC, 4, pc)
    write_hex(board[0], at.AT_SP, 4, word(m, SP))
    write_hex(board[0], at.AT_IME, 1, word(m, INTERRUPTS_ON))
    write_hex(board[0], at.AT_HALT, 1, word(m, HALTED))
    write_hex(board[0], at.AT_CYCLES, 12, now)
    write_hex(board[1], at.AT_AF, 4, af(registers))
    write_hex(board[1], at.AT_BC, 4, pair(registers, 0))
    write_hex(board[1], at.AT_DE, 4, pair(registers, 1))
    write_hex(board[1], at.AT_HL, 4, pair(registers, 2))
    for place, register in ((at.AT_LY, LY), (at.AT_LCDC, LCDC), (at.AT_STAT, STAT)):
        write_hex(board[2], place, 2, read_register(m, now, register))
    for place, register in ((at.AT_IE, IE), (at.AT_IF, IF)):
        write_hex(board[2], place, 2, byte(m, HIGH_PAGE + register))
    for index in range(16):
        write_hex(board[at.CODE_LINE], at.AT_CODE + 3 * index, 2, memory_byte(m, (pc + index) & 0xFFFF))
    for index in range(16 * at.MEMORY_LINES):
        value = memory_byte(m, (page << 8) | index)
        write_hex(board[at.MEMORY_LINE + (index >> 4)], at.AT_CODE + 3 * (index & 15), 2, value)


@inlined
def draw_progress(m: Machine, v: GameViews, progress: Array) -> None:
    """Write the bars: numbers in memory, then of goals the distance and the stage."""
    count = v.values.shape[0]
    for index in range(count):
        progress[index, 0] = progress[index, 1] = value_of(m, v.values, index)
    if v.numbers.goals:
        distance = np.float32(word(m, DISTANCE))
        progress[count, 0] = distance / np.float32(max(word(m, FIRST_DISTANCE), 1))
        progress[count, 1] = distance / FARTHEST
        progress[count + 1, 0] = np.float32(word(m, STAGE)) / np.float32(v.numbers.goals)
        progress[count + 1, 1] = word(m, STAGE)


@compiled
def draw_boards(m: Machine, v: GameViews, b: GameBoards, env: int) -> None:
    """Draw all boards."""
    for place in range(FRAME_BYTES):
        b.frame[env, place] = byte(m, FRAME + place)
    if v.numbers.goals:
        stage = min(word(m, STAGE), v.numbers.goals - 1)
        for place in range(FRAME_BYTES):
            b.goal[env, place] = v.goals[stage, place]
    draw_progress(m, v, b.progress[env])
    draw_machine(m, v.template, v.numbers.page, b.machine[env])
