"""The loop of the processor: instructions until the next event, then events and interrupts."""

from __future__ import annotations

from . import operations as op
from .bus import catch_up, write
from .compiled import called, compiled, inlined
from .instructions import control, fetch, jump, load, operate, operate_wide
from .layout import (
    BLANKED,
    CLASSES,
    CLOCK,
    DMA_AT,
    ENABLING,
    FRAMES,
    HALTED,
    HIGH_PAGE,
    IN_TIME,
    INTERRUPTS_ON,
    LCD_NEXT,
    LOCKED,
    NEXT,
    PC,
    REGISTERS,
    REPEATS,
    SERIAL_END,
    SP,
    STOP,
    STUCK,
    TIMER_NEXT,
    Machine,
)
from .memory import byte, load_byte, set_byte, set_word, word
from .registers import IE, IF
from .screen_timing import plan_screen


@inlined
def pending(m: Machine) -> int:
    """Return the interrupts that are both enabled and requested."""
    return byte(m, HIGH_PAGE + IE) & byte(m, HIGH_PAGE + IF) & 31


@inlined
def next_event(m: Machine) -> int:
    """Return when something next needs attention."""
    return min(word(m, LCD_NEXT), word(m, TIMER_NEXT), word(m, SERIAL_END), word(m, DMA_AT), word(m, STOP))


@inlined
def interrupt(m: Machine) -> None:
    """Serve the first pending interrupt. It is chosen after the first push, which may have disabled it."""
    pc, sp, now = word(m, PC), word(m, SP), word(m, CLOCK)
    set_word(m, INTERRUPTS_ON, 0)
    write(m, now + 12, (sp - 1) & 0xFFFF, pc >> 8)
    found = pending(m)
    write(m, now + 16, (sp - 2) & 0xFFFF, pc & 255)
    bit = found & -found
    target = 0
    while bit >> target:
        target += 1
    if found:
        set_byte(m, HIGH_PAGE + IF, byte(m, HIGH_PAGE + IF) & ~bit)
    set_word(m, PC, 0x38 + 8 * target if found else 0)
    set_word(m, SP, (sp - 2) & 0xFFFF)
    set_word(m, CLOCK, now + 20)


@inlined
def skip_halt(m: Machine) -> None:
    """Let time pass to the next event, in whole machine cycles."""
    now = word(m, CLOCK)
    set_word(m, CLOCK, now + ((max(next_event(m) - now, 1) + 3) & ~3))


@called
def attend(m: Machine) -> int:
    """Run events, then interrupts, at the end of an instruction; return why to stop, or 0."""
    while True:
        now, frames = word(m, CLOCK), word(m, FRAMES)
        catch_up(m, now)
        if word(m, FRAMES) != frames:
            return BLANKED
        if now >= word(m, STOP):
            return IN_TIME
        if word(m, LOCKED):
            return STUCK
        found = pending(m)
        if not word(m, HALTED):
            break
        if found:
            set_word(m, HALTED, 0)
            break
        skip_halt(m)
    set_word(m, NEXT, next_event(m))
    enabling = word(m, ENABLING)
    if enabling:
        set_word(m, ENABLING, enabling - 1)
        if enabling == 2:
            set_word(m, NEXT, 0)
            return 0
        set_word(m, INTERRUPTS_ON, 1)
    if found and word(m, INTERRUPTS_ON):
        interrupt(m)
    return 0


@compiled
def run(m: Machine) -> int:
    """Run until the vertical blank begins, or until the first instruction that ends at or after `STOP`.

    Returns:
        `BLANKED`, `IN_TIME`, or `STUCK` if an illegal instruction stopped the processor.
    """
    set_word(m, NEXT, 0)
    plan_screen(m, word(m, CLOCK))
    registers, pc, sp, now, forward = word(m, REGISTERS), word(m, PC), word(m, SP), word(m, CLOCK), 1
    while True:
        if now >= word(m, NEXT):
            set_word(m, PC, pc)
            set_word(m, SP, sp)
            set_word(m, CLOCK, now)
            why = attend(m)
            if why:
                set_word(m, REGISTERS, registers)
                return why
            pc, sp, now, forward = word(m, PC), word(m, SP), word(m, CLOCK), 1 - word(m, REPEATS)
            set_word(m, REPEATS, 0)
        now += 4
        code = fetch(m, now, pc)
        pc = (pc + forward) & 0xFFFF
        forward = 1
        kind = load_byte(m.tables + CLASSES + code)
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
