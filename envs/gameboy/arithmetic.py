"""The arithmetic of the processor. All registers are one 64-bit integer: B C D E H L F A, B in the highest byte.

So register z of an operation's code is `registers >> (56 - 8 * z)`, and pair p is `registers >> (48 - 16 * p)`.
Code 6 means memory at HL in operations; its place holds the flags Z N H C, in the highest four of their byte.
"""

from __future__ import annotations

from ..native import called, inlined

ZERO, NEGATIVE, HALF_CARRY, CARRY = 0x80, 0x40, 0x20, 0x10


@inlined
def get(registers: int, number: int) -> int:
    return (registers >> (56 - 8 * number)) & 255


@inlined
def put(registers: int, number: int, value: int) -> int:
    shift = 56 - 8 * number
    return (registers & ~(255 << shift)) | (value << shift)


@inlined
def pair(registers: int, number: int) -> int:
    """Return BC, DE or HL."""
    return (registers >> (48 - 16 * number)) & 0xFFFF


@inlined
def put_pair(registers: int, number: int, value: int) -> int:
    """Return the registers with another value in BC, DE or HL."""
    shift = 48 - 16 * number
    return (registers & ~(0xFFFF << shift)) | ((value & 0xFFFF) << shift)


@inlined
def with_result(registers: int, flags: int, a: int) -> int:
    """Return the registers with other flags and another A."""
    return (registers & ~0xFFFF) | (flags << 8) | a


@inlined
def with_flags(registers: int, flags: int) -> int:
    return (registers & ~0xFF00) | (flags << 8)


@inlined
def calculate(registers: int, which: int, b: int) -> int:
    """Return the registers after ADD, ADC, SUB, SBC, AND, XOR, OR or CP."""
    a = registers & 255
    if which < 4 or which == 7:
        carry = (registers >> 12) & which & 1 if which < 4 else 0
        if which < 2:
            found, flags = a + b + carry, 0
        else:
            found, flags = a - b - carry, NEGATIVE
        flags |= (((a ^ b ^ found) & 0x10) << 1) | ((found & 0x100) >> 4)
        found &= 255
    elif which == 4:
        found, flags = a & b, HALF_CARRY
    else:
        found, flags = (a ^ b if which == 5 else a | b), 0
    if found == 0:
        flags |= ZERO
    return with_result(registers, flags, a if which == 7 else found)


@inlined
def count_flags(registers: int, found: int, down: int) -> int:
    """Return the registers with the flags of INC, or of DEC if `down` is 1, and the result `found`."""
    half = (found & 15) == (15 if down else 0)
    flags = ((registers >> 8) & CARRY) | (down << 6) | (int(half) << 5) | (int(found == 0) << 7)
    return with_flags(registers, flags)


@inlined
def add_pair(registers: int, b: int) -> int:
    """Return the registers after ADD HL."""
    a = pair(registers, 2)
    found = a + b
    flags = ((registers >> 8) & ZERO) | (((a ^ b ^ found) & 0x1000) >> 7) | ((found & 0x10000) >> 12)
    return with_flags(put_pair(registers, 2, found), flags)


@inlined
def offset_flags(sp: int, offset: int) -> int:
    """Return the flags of SP + offset, a byte."""
    return (((sp & 15) + (offset & 15)) & 0x10) << 1 | (((sp & 255) + offset) & 0x100) >> 4


@called
def rotated(which: int, value: int, carry: int) -> int:
    """Return a byte after RLC, RRC, RL, RR, SLA, SRA, SWAP or SRL; the bit that fell out is bit 8."""
    if which == 0:
        return (value << 1) & 0xFE | (value >> 7) | ((value & 0x80) << 1)
    if which == 1:
        return (value >> 1) | ((value & 1) << 7) | ((value & 1) << 8)
    if which == 2:
        return (value << 1) | carry
    if which == 3:
        return (value >> 1) | (carry << 7) | ((value & 1) << 8)
    if which == 4:
        return value << 1
    if which == 5:
        return (value >> 1) | (value & 0x80) | ((value & 1) << 8)
    if which == 6:
        return (value >> 4) | ((value & 15) << 4)
    return (value >> 1) | ((value & 1) << 8)


@inlined
def rotate_a(registers: int, which: int) -> int:
    """Return the registers after RLCA, RRCA, RLA or RRA, which clear Z."""
    found = rotated(which, registers & 255, (registers >> 12) & 1)
    return with_result(registers, (found >> 8) << 4, found & 255)


@called
def adjust(registers: int) -> int:
    """Return the registers after DAA."""
    a, flags = registers & 255, (registers >> 8) & 255
    change, carry = 0, flags & CARRY
    if flags & HALF_CARRY or (not flags & NEGATIVE and a & 15 > 9):
        change = 6
    if carry or (not flags & NEGATIVE and a > 0x99):
        change += 0x60
        carry = CARRY
    a = (a - change if flags & NEGATIVE else a + change) & 255
    return with_result(registers, (flags & NEGATIVE) | carry | (int(a == 0) << 7), a)


@inlined
def special_a(registers: int, which: int) -> int:
    """Return the registers after DAA, CPL, SCF or CCF, numbered from 4."""
    flags = (registers >> 8) & 255
    if which == 4:
        return adjust(registers)
    if which == 5:
        return with_result(registers, flags | NEGATIVE | HALF_CARRY, ~registers & 255)
    return with_flags(registers, (flags & ZERO) | (CARRY if which == 6 else ~flags & CARRY))


@inlined
def holds(registers: int, which: int) -> bool:
    """Return whether condition NZ, Z, NC or C holds."""
    flag = (registers >> 15) & 1 if which < 2 else (registers >> 12) & 1
    return flag == which & 1


@inlined
def af(registers: int) -> int:
    """Return AF."""
    return ((registers & 255) << 8) | ((registers >> 8) & 255)


@inlined
def put_af(registers: int, value: int) -> int:
    """Return the registers with another AF, of whose flags only four bits exist."""
    return with_result(registers, value & 0xF0, value >> 8)


@called
def operate_bit(registers: int, code: int, value: int) -> int:
    """Return flags and result of an operation after the prefix CB on a byte: the flags are bits 8 to 15."""
    flags, number = (registers >> 8) & 255, (code >> 3) & 7
    if code < 0x40:
        found = rotated(number, value, (flags >> 4) & 1)
        result = found & 255
        return (((found >> 8) & 1) << 12) | (int(result == 0) << 15) | result
    if code < 0x80:
        unset = int(not value & (1 << number))
        return (((flags & CARRY) | HALF_CARRY | (unset << 7)) << 8) | value
    return (flags << 8) | (value & ~(1 << number) if code < 0xC0 else value | (1 << number))
