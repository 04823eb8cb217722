"""The classes of operations, and the class of each of the 256 codes."""

from __future__ import annotations

import numpy as np

from .layout import CLASSES, ELSEWHERE, IN_HIGH, IN_RAM, IN_ROM, IN_VIDEO, KINDS, READS, TABLE_BYTES

# 8-bit loads and arithmetic, the first ones being the most frequent.
LD_R_R, LD_R_N, LD_R_HL, LD_HL_R, LD_HL_N, LD_A_RR, LD_RR_A, LD_A_HIGH, LD_HIGH_A, LD_A_C, LD_C_A, LD_A_NN, LD_NN_A = (
    range(13)
)
ALU_R, ALU_N, ALU_HL, INC_R, INC_HL, ROTATE_A, SPECIAL_A, PREFIX = range(13, 21)
# 16 bits.
LD_RR_NN, INC_RR, DEC_RR, ADD_HL, PUSH, POP, LD_NN_SP, ADD_SP, LD_HL_SP, LD_SP_HL = range(21, 31)
# Jumps and the rest.
JR, JR_IF, JP, JP_IF, JP_HL, CALL, CALL_IF, RET, RET_IF, RETI, RST, NOP, DI, EI, HALT, STOP_, ILLEGAL = range(31, 48)
LOADS_END, ALU_END, WIDE_END = ALU_R, LD_RR_NN, JR

SINGLE = {
    0x00: NOP,
    0x08: LD_NN_SP,
    0x10: STOP_,
    0x18: JR,
    0x76: HALT,
    0xC3: JP,
    0xC9: RET,
    0xCB: PREFIX,
    0xCD: CALL,
    0xD9: RETI,
    0xE0: LD_HIGH_A,
    0xE2: LD_C_A,
    0xE8: ADD_SP,
    0xE9: JP_HL,
    0xEA: LD_NN_A,
    0xF0: LD_A_HIGH,
    0xF2: LD_A_C,
    0xF3: DI,
    0xF8: LD_HL_SP,
    0xF9: LD_SP_HL,
    0xFA: LD_A_NN,
    0xFB: EI,
    0x34: INC_HL,
    0x35: INC_HL,
    0x36: LD_HL_N,
}
"""The class of codes that are alone in theirs, or exceptions to the columns below."""
LOW_COLUMNS = {1: LD_RR_NN, 2: LD_RR_A, 3: INC_RR, 9: ADD_HL, 10: LD_A_RR, 11: DEC_RR}
"""Of the codes 00 to 3F: the class by the lowest four bits."""
LOW_ROWS = {4: INC_R, 5: INC_R, 6: LD_R_N}
"""Of the codes 00 to 3F: the class by the lowest three bits."""
ONES = {
    0x00: 0xC0,
    0x02: 0x7E,
    0x07: 0xF8,
    0x0F: 0xE0,
    0x10: 0x80,
    0x11: 0x3F,
    0x13: 0xFF,
    0x14: 0xBF,
    0x16: 0x3F,
    0x18: 0xFF,
    0x19: 0xBF,
    0x1A: 0x7F,
    0x1B: 0xFF,
    0x1C: 0x9F,
    0x1D: 0xFF,
    0x1E: 0xBF,
    0x20: 0xFF,
    0x23: 0xBF,
    0x26: 0x70,
    0x41: 0x80,
}
"""Bits of the registers FF00-FF7F that read as 1."""
STORED = {
    *(0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x07, 0x0F, *range(0x10, 0x15), *range(0x16, 0x1F), *range(0x20, 0x27)),
    *(*range(0x30, 0x40), *range(0x40, 0x4C)),
}


def _class_of(code: int) -> int:
    top, row = code >> 6, code & 7
    if code in SINGLE:
        return SINGLE[code]
    if top == 0:
        if row == 0:
            return JR_IF
        if row == 7:
            return ROTATE_A if code < 0x20 else SPECIAL_A
        return LOW_ROWS[row] if row in LOW_ROWS else LOW_COLUMNS[code & 15]
    if top == 1:
        return LD_R_HL if row == 6 else LD_HL_R if code >> 3 == 14 else LD_R_R
    if top == 2:
        return ALU_HL if row == 6 else ALU_R
    if row == 6:
        return ALU_N
    if row == 7:
        return RST
    if code < 0xE0 and row in {0, 2, 4}:
        return {0: RET_IF, 2: JP_IF, 4: CALL_IF}[row]
    return {1: POP, 5: PUSH}[code & 15] if code & 15 in {1, 5} else ILLEGAL


def _kind_of(page: int) -> int:
    if page < 0x80:
        return IN_ROM
    if 0x80 <= page < 0xA0:
        return IN_VIDEO
    if 0xC0 <= page < 0xFE:
        return IN_RAM
    return IN_HIGH if page == 0xFF else ELSEWHERE


def _tables() -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    found = np.zeros(TABLE_BYTES, np.uint8)
    found[KINDS : KINDS + 256] = [_kind_of(page) for page in range(256)]
    found[CLASSES : CLASSES + 256] = [_class_of(code) for code in range(256)]
    found[READS : READS + 128] = [ONES.get(place, 0 if place in STORED else 0xFF) for place in range(128)]
    return found


TABLES = _tables()
"""The tables that kernels read, `TABLE_BYTES` uint8."""
