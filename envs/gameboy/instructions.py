"""The instructions, by group. Each takes the processor after the fetch of the code, and returns what it became.

Every read and write is passed the time at which its machine cycle ends, so that registers of the hardware answer as of
that time. `now` moves by 4 T-cycles per machine cycle.
"""

from __future__ import annotations

from typing import NamedTuple

from ..native import called, inlined
from . import operations as op
from .arithmetic import (
    add_pair,
    af,
    calculate,
    count_flags,
    get,
    holds,
    offset_flags,
    operate_bit,
    pair,
    put,
    put_af,
    put_pair,
    rotate_a,
    special_a,
    with_flags,
)
from .bus import catch_up, read, write
from .layout import ENABLING, HALTED, HIGH_PAGE, IE, IF, INTERRUPTS_ON, LOCKED, LOW_BANK, NEXT, REPEATS, Machine
from .memory import byte, load_byte, set_word, word
from .timer import reset_divider


class Cpu(NamedTuple):
    """The processor: its registers, the addresses of code and stack, the time in T-cycles."""

    registers: int
    pc: int
    sp: int
    now: int


@inlined
def fetch(m: Machine, now: int, pc: int) -> int:
    """Return the byte of code at an address; `now` is the end of the machine cycle."""
    if pc < m.top:
        return load_byte(m.rom + word(m, LOW_BANK + (pc >> 14)) + (pc & 0x3FFF))
    return read(m, now, pc)


@inlined
def fetch_pair(m: Machine, now: int, pc: int) -> int:
    """Return the two bytes of code from an address on; `now` is the end of the second machine cycle."""
    low = fetch(m, now - 4, pc)
    return low | (fetch(m, now, (pc + 1) & 0xFFFF) << 8)


@inlined
def next_pc(pc: int) -> int:
    """Return the address after one."""
    return (pc + 1) & 0xFFFF


@inlined
def load(m: Machine, registers: int, pc: int, sp: int, now: int, code: int, kind: int) -> Cpu:
    """Run an 8-bit load."""
    if kind == op.LD_R_R:
        return Cpu(put(registers, (code >> 3) & 7, get(registers, code & 7)), pc, sp, now)
    if kind == op.LD_R_N:
        return Cpu(put(registers, (code >> 3) & 7, fetch(m, now + 4, pc)), next_pc(pc), sp, now + 4)
    if kind == op.LD_R_HL:
        return Cpu(put(registers, (code >> 3) & 7, read(m, now + 4, pair(registers, 2))), pc, sp, now + 4)
    if kind == op.LD_HL_R or kind == op.LD_RR_A:
        which, value = 2, get(registers, code & 7)
        if kind == op.LD_RR_A:
            which, value = min(code >> 4, 2), registers & 255
        address = pair(registers, which)
        write(m, now + 4, address, value)
        return Cpu(moved(registers, code, address) if kind == op.LD_RR_A else registers, pc, sp, now + 4)
    if kind == op.LD_A_RR:
        address = pair(registers, min(code >> 4, 2))
        return Cpu(moved(put(registers, 7, read(m, now + 4, address)), code, address), pc, sp, now + 4)
    if kind == op.LD_HL_N:
        write(m, now + 8, pair(registers, 2), fetch(m, now + 4, pc))
        return Cpu(registers, next_pc(pc), sp, now + 8)
    return load_far(m, registers, pc, sp, now, kind)


@inlined
def moved(registers: int, code: int, address: int) -> int:
    """Return the registers after a load with HL+ or HL-."""
    return registers if code < 0x20 else put_pair(registers, 2, address + (1 if code < 0x30 else -1))


@inlined
def load_far(m: Machine, registers: int, pc: int, sp: int, now: int, kind: int) -> Cpu:
    """Run a load of A from or to an address in the code, or FF00 + C."""
    address = 0xFF00 | get(registers, 1)
    if kind == op.LD_A_HIGH or kind == op.LD_HIGH_A:
        now += 4
        address = 0xFF00 | fetch(m, now, pc)
        pc = next_pc(pc)
    elif kind == op.LD_A_NN or kind == op.LD_NN_A:
        now += 8
        address = fetch_pair(m, now, pc)
        pc = (pc + 2) & 0xFFFF
    now += 4
    if kind == op.LD_A_HIGH or kind == op.LD_A_NN or kind == op.LD_A_C:
        return Cpu(put(registers, 7, read(m, now, address)), pc, sp, now)
    write(m, now, address, registers & 255)
    return Cpu(registers, pc, sp, now)


@inlined
def operate(m: Machine, registers: int, pc: int, sp: int, now: int, code: int, kind: int) -> Cpu:
    """Run 8-bit arithmetic."""
    which = (code >> 3) & 7
    if kind == op.ALU_R:
        return Cpu(calculate(registers, which, get(registers, code & 7)), pc, sp, now)
    if kind == op.ALU_N:
        return Cpu(calculate(registers, which, fetch(m, now + 4, pc)), next_pc(pc), sp, now + 4)
    if kind == op.ALU_HL:
        return Cpu(calculate(registers, which, read(m, now + 4, pair(registers, 2))), pc, sp, now + 4)
    if kind == op.INC_R:
        found = (get(registers, which) + 1 - 2 * (code & 1)) & 255
        return Cpu(count_flags(put(registers, which, found), found, code & 1), pc, sp, now)
    if kind == op.INC_HL:
        address = pair(registers, 2)
        found = (read(m, now + 4, address) + 1 - 2 * (code & 1)) & 255
        write(m, now + 8, address, found)
        return Cpu(count_flags(registers, found, code & 1), pc, sp, now + 8)
    if kind == op.ROTATE_A:
        return Cpu(rotate_a(registers, which), pc, sp, now)
    if kind == op.SPECIAL_A:
        return Cpu(special_a(registers, which), pc, sp, now)
    return prefixed(m, registers, pc, sp, now)


@inlined
def prefixed(m: Machine, registers: int, pc: int, sp: int, now: int) -> Cpu:
    """Run an operation after the prefix CB."""
    now += 4
    code = fetch(m, now, pc)
    if code & 7 != 6:
        found = operate_bit(registers, code, get(registers, code & 7))
        return Cpu(put(with_flags(registers, found >> 8), code & 7, found & 255), next_pc(pc), sp, now)
    now += 4
    address = pair(registers, 2)
    found = operate_bit(registers, code, read(m, now, address))
    if code < 0x40 or code >= 0x80:
        now += 4
        write(m, now, address, found & 255)
    return Cpu(with_flags(registers, found >> 8), next_pc(pc), sp, now)


@inlined
def pushed(m: Machine, sp: int, now: int, value: int) -> int:
    """Push two bytes in two machine cycles from `now` on, and return the new address of the stack."""
    write(m, now + 4, (sp - 1) & 0xFFFF, value >> 8)
    write(m, now + 8, (sp - 2) & 0xFFFF, value & 255)
    return (sp - 2) & 0xFFFF


@inlined
def popped(m: Machine, sp: int, now: int) -> int:
    """Return the two bytes on top of the stack, read in two machine cycles from `now` on."""
    low = read(m, now + 4, sp)
    return low | (read(m, now + 8, (sp + 1) & 0xFFFF) << 8)


@inlined
def operate_wide(m: Machine, registers: int, pc: int, sp: int, now: int, code: int, kind: int) -> Cpu:
    """Run an operation on 16 bits."""
    which = (code >> 4) & 3
    wide = sp if which == 3 else pair(registers, which)
    if kind == op.INC_RR or kind == op.DEC_RR or kind == op.LD_RR_NN:
        wide = (wide + 1 if kind == op.INC_RR else wide - 1) & 0xFFFF
        now += 4
        if kind == op.LD_RR_NN:
            now += 4
            wide = fetch_pair(m, now, pc)
            pc = (pc + 2) & 0xFFFF
        return Cpu(registers if which == 3 else put_pair(registers, which, wide), pc, wide if which == 3 else sp, now)
    if kind == op.ADD_HL:
        return Cpu(add_pair(registers, wide), pc, sp, now + 4)
    if kind == op.PUSH:
        return Cpu(registers, pc, pushed(m, sp, now + 4, af(registers) if which == 3 else wide), now + 12)
    if kind == op.POP:
        found = popped(m, sp, now)
        registers = put_af(registers, found) if which == 3 else put_pair(registers, which, found)
        return Cpu(registers, pc, (sp + 2) & 0xFFFF, now + 8)
    return operate_stack(m, registers, pc, sp, now, kind)


@inlined
def operate_stack(m: Machine, registers: int, pc: int, sp: int, now: int, kind: int) -> Cpu:
    """Run an operation on the address of the stack."""
    if kind == op.LD_SP_HL:
        return Cpu(registers, pc, pair(registers, 2), now + 4)
    if kind == op.LD_NN_SP:
        address = fetch_pair(m, now + 8, pc)
        write(m, now + 12, address, sp & 255)
        write(m, now + 16, (address + 1) & 0xFFFF, sp >> 8)
        return Cpu(registers, (pc + 2) & 0xFFFF, sp, now + 16)
    offset = fetch(m, now + 4, pc)
    registers = with_flags(registers, offset_flags(sp, offset))
    found = (sp + (offset ^ 0x80) - 0x80) & 0xFFFF
    if kind == op.ADD_SP:
        return Cpu(registers, next_pc(pc), found, now + 12)
    return Cpu(put_pair(registers, 2, found), next_pc(pc), sp, now + 8)


@inlined
def jump(m: Machine, registers: int, pc: int, sp: int, now: int, code: int, kind: int) -> Cpu:
    """Run a jump, a call or a return."""
    met = holds(registers, (code >> 3) & 3)
    if kind == op.JR or kind == op.JR_IF:
        offset = fetch(m, now + 4, pc)
        pc = next_pc(pc)
        if kind == op.JR or met:
            return Cpu(registers, (pc + (offset ^ 0x80) - 0x80) & 0xFFFF, sp, now + 8)
        return Cpu(registers, pc, sp, now + 4)
    if kind == op.JP_HL:
        return Cpu(registers, pair(registers, 2), sp, now)
    if kind == op.RST:
        return Cpu(registers, code & 0x38, pushed(m, sp, now + 4, pc), now + 12)
    if kind == op.RET or kind == op.RET_IF or kind == op.RETI:
        return come_back(m, registers, pc, sp, now, kind, met)
    target = fetch_pair(m, now + 8, pc)
    pc = (pc + 2) & 0xFFFF
    if (kind == op.JP_IF or kind == op.CALL_IF) and not met:
        return Cpu(registers, pc, sp, now + 8)
    if kind == op.JP or kind == op.JP_IF:
        return Cpu(registers, target, sp, now + 12)
    return Cpu(registers, target, pushed(m, sp, now + 12, pc), now + 20)


@inlined
def come_back(m: Machine, registers: int, pc: int, sp: int, now: int, kind: int, met: bool) -> Cpu:
    """Run RET, RET cc or RETI."""
    if kind == op.RET_IF:
        now += 4
        if not met:
            return Cpu(registers, pc, sp, now)
    if kind == op.RETI:
        set_word(m, INTERRUPTS_ON, 1)
        set_word(m, ENABLING, 0)
        set_word(m, NEXT, 0)
    return Cpu(registers, popped(m, sp, now), (sp + 2) & 0xFFFF, now + 12)


@called
def control(m: Machine, pc: int, now: int, kind: int) -> int:
    """Run NOP, DI, EI, HALT, STOP or an illegal code, and return the address that follows."""
    if kind == op.NOP:
        return pc
    set_word(m, NEXT, 0)
    if kind == op.DI:
        set_word(m, INTERRUPTS_ON, 0)
        set_word(m, ENABLING, 0)
    elif kind == op.EI:
        if not word(m, ENABLING):
            set_word(m, ENABLING, 2)
    elif kind == op.HALT:
        catch_up(m, now)
        if not byte(m, HIGH_PAGE + IE) & byte(m, HIGH_PAGE + IF) & 31:
            set_word(m, HALTED, 1)
        elif not word(m, INTERRUPTS_ON):
            if word(m, ENABLING):
                return (pc - 1) & 0xFFFF
            set_word(m, REPEATS, 1)
    elif kind == op.STOP_:  # the byte that follows is 00, and runs as NOP
        reset_divider(m, now)
    else:
        set_word(m, LOCKED, 1)
        return (pc - 1) & 0xFFFF
    return pc
