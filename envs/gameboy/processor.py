"""The loop of the processor: instructions until the next event, then events and interrupts."""

from __future__ import annotations

from ..native import called, compiled, inlined
from . import layout as at
from . import operations as op
from .bus import catch_up, write
from .instructions import control, fetch, jump, load, operate, operate_wide
from .layout import IE, IF, Machine
from .memory import byte, load_byte, set_byte, set_word, word
from .screen_timing import plan_screen


@inlined
def pending(m: Machine) -> int:
    """Return the interrupts that are both enabled and requested."""
    return byte(m, at.HIGH_PAGE + IE) & byte(m, at.HIGH_PAGE + IF) & 31


@inlined
def next_event(m: Machine) -> int:
    """Return when something next needs attention."""
    return min(
        word(m, at.LCD_NEXT), word(m, at.TIMER_NEXT), word(m, at.SERIAL_END), word(m, at.DMA_AT), word(m, at.STOP)
    )


@inlined
def interrupt(m: Machine) -> None:
    """Serve the first pending interrupt. It is chosen after the first push, which may have disabled it."""
    pc, sp, now = word(m, at.PC), word(m, at.SP), word(m, at.CLOCK)
    set_word(m, at.INTERRUPTS_ON, 0)
    write(m, now + 12, (sp - 1) & 0xFFFF, pc >> 8)
    found = pending(m)
    write(m, now + 16, (sp - 2) & 0xFFFF, pc & 255)
    bit = found & -found
    target = 0
    while bit >> target:
        target += 1
    if found:
        set_byte(m, at.HIGH_PAGE + IF, byte(m, at.HIGH_PAGE + IF) & ~bit)
    set_word(m, at.PC, 0x38 + 8 * target if found else 0)
    set_word(m, at.SP, (sp - 2) & 0xFFFF)
    set_word(m, at.CLOCK, now + 20)


@inlined
def skip_halt(m: Machine) -> None:
    """Let time pass to the next event, in whole machine cycles."""
    now = word(m, at.CLOCK)
    set_word(m, at.CLOCK, now + ((max(next_event(m) - now, 1) + 3) & ~3))


@called
def attend(m: Machine) -> int:
    """Run events, then interrupts, at the end of an instruction; return why to stop, or 0."""
    while True:
        now, frames = word(m, at.CLOCK), word(m, at.FRAMES)
        catch_up(m, now)
        if word(m, at.FRAMES) != frames:
            return at.BLANKED
        if now >= word(m, at.STOP):
            return at.IN_TIME
        if word(m, at.LOCKED):
            return at.STUCK
        found = pending(m)
        if not word(m, at.HALTED):
            break
        if found:
            set_word(m, at.HALTED, 0)
            break
        skip_halt(m)
    set_word(m, at.NEXT, next_event(m))
    enabling = word(m, at.ENABLING)
    if enabling:
        set_word(m, at.ENABLING, enabling - 1)
        if enabling == 2:
            set_word(m, at.NEXT, 0)
            return 0
        set_word(m, at.INTERRUPTS_ON, 1)
    if found and word(m, at.INTERRUPTS_ON):
        interrupt(m)
    return 0


@compiled
def run(m: Machine) -> int:
    """Run until the vertical blank begins, or until the first instruction that ends at or after `STOP`.

    Returns:
        `BLANKED`, `IN_TIME`, or `STUCK` if an illegal instruction stopped the processor.
    """
    set_word(m, at.NEXT, 0)
    plan_screen(m, word(m, at.CLOCK))
    registers, pc, sp, now, forward = word(m, at.REGISTERS), word(m, at.PC), word(m, at.SP), word(m, at.CLOCK), 1
    while True:
        if now >= word(m, at.NEXT):
            set_word(m, at.PC, pc)
            set_word(m, at.SP, sp)
            set_word(m, at.CLOCK, now)
            why = attend(m)
            if why:
                set_word(m, at.REGISTERS, registers)
                return why
            pc, sp, now, forward = word(m, at.PC), word(m, at.SP), word(m, at.CLOCK), 1 - word(m, at.REPEATS)
            set_word(m, at.REPEATS, 0)
        now += 4
        code = fetch(m, now, pc)
        pc = (pc + forward) & 0xFFFF
        forward = 1
        kind = load_byte(m.tables + at.CLASSES + code)
        if kind < op.LOADS_END:
            registers, pc, sp, now = load(m, registers, pc, sp, now, code, kind)
        elif kind < op.ALU_END:
            registers, pc, sp, now = operate(m, registers, pc, sp, now, code, kind)
        elif kind < op.WIDE_END:
            registers, pc, sp, now = operate_wide(m, registers, pc, sp, now, code, kind)
        elif kind < op.NOP:
            registers, pc, sp, now = jump(m, registers, pc, sp, now, code, kind)
        else:
            pc = control(m, pc, now, kind)
