"""Divider, timer and serial port. They are brought up to date when they are used, never ticked."""

from __future__ import annotations

from ..native import called, inlined
from . import layout as at
from .layout import IF, SB, SC, TAC, TIMA, TMA, Machine
from .memory import byte, set_byte, set_word, word

TRANSFER = 8 * 512
"""T-cycles of the transfer of a byte."""


@inlined
def request(m: Machine, bit: int) -> None:
    """Set a bit of IF."""
    set_byte(m, at.HIGH_PAGE + IF, byte(m, at.HIGH_PAGE + IF) | bit)


@inlined
def period(control: int) -> int:
    """Return the binary logarithm of the T-cycles of a tick."""
    return 4 + 2 * ((control - 1) & 3)


@inlined
def overflow_at(m: Machine, control: int) -> int:
    """Return when the timer, counted up to `TIMER_AT`, overflows."""
    shift, offset = period(control), word(m, at.DIVIDER)
    ticks = 256 - byte(m, at.HIGH_PAGE + TIMA)
    return ((((word(m, at.TIMER_AT) + offset) >> shift) + ticks) << shift) - offset


@called
def count_timer(m: Machine, now: int) -> None:
    control = byte(m, at.HIGH_PAGE + TAC)
    while True:
        reload = word(m, at.RELOAD)
        if reload <= now:
            set_byte(m, at.HIGH_PAGE + TIMA, byte(m, at.HIGH_PAGE + TMA))
            request(m, 4)
            set_word(m, at.RELOAD, at.FAR)
            set_word(m, at.RELOADED, reload)
        if not control & 4:
            break
        over = overflow_at(m, control)
        if over > now:
            shift, offset = period(control), word(m, at.DIVIDER)
            ticks = ((now + offset) >> shift) - ((word(m, at.TIMER_AT) + offset) >> shift)
            set_byte(m, at.HIGH_PAGE + TIMA, byte(m, at.HIGH_PAGE + TIMA) + ticks)
            break
        set_byte(m, at.HIGH_PAGE + TIMA, 0)
        set_word(m, at.TIMER_AT, over)
        set_word(m, at.RELOAD, over + 4)
    set_word(m, at.TIMER_AT, now)


@inlined
def plan_timer(m: Machine) -> None:
    """Find when the timer next needs attention."""
    control, found = byte(m, at.HIGH_PAGE + TAC), word(m, at.RELOAD)
    if control & 4:
        found = min(found, overflow_at(m, control))
    set_word(m, at.TIMER_NEXT, found)


@inlined
def tick(m: Machine, now: int) -> None:
    """Count the timer up by one, outside of its period. It was written in the cycle before, so a load is due."""
    count = byte(m, at.HIGH_PAGE + TIMA) + 1
    set_byte(m, at.HIGH_PAGE + TIMA, count)
    if count == 256:
        set_word(m, at.RELOAD, now)


@inlined
def signal(m: Machine, control: int, now: int) -> int:
    """Return the bit on whose fall the timer ticks."""
    return ((now + word(m, at.DIVIDER)) >> (period(control) - 1)) & (control >> 2) & 1


@called
def reset_divider(m: Machine, now: int) -> None:
    """Write DIV."""
    count_timer(m, now)
    before = signal(m, byte(m, at.HIGH_PAGE + TAC), now)
    set_word(m, at.DIVIDER, -now)
    if before:
        tick(m, now)
    plan_timer(m)


@called
def write_timer(m: Machine, now: int, place: int, value: int) -> None:
    """Write TIMA, TMA or TAC."""
    count_timer(m, now)
    control = byte(m, at.HIGH_PAGE + TAC)
    before = signal(m, control, now)
    if place == TAC:
        set_byte(m, at.HIGH_PAGE + TAC, value & 7)
        if before and not signal(m, value, now):
            tick(m, now)
    elif place == TMA:
        set_byte(m, at.HIGH_PAGE + TMA, value)
        if word(m, at.RELOADED) == now:
            set_byte(m, at.HIGH_PAGE + TIMA, value)
    elif word(m, at.RELOADED) != now:
        set_byte(m, at.HIGH_PAGE + TIMA, value)
        set_word(m, at.RELOAD, at.FAR)
    plan_timer(m)


@inlined
def write_serial(m: Machine, now: int, value: int) -> None:
    """Write SC. With the internal clock, a byte is sent, and nothing is at the other end."""
    set_byte(m, at.HIGH_PAGE + SC, value)
    if value & 0x81 == 0x81:
        sent = word(m, at.SENT)
        set_byte(m, at.SERIAL + sent % at.SERIAL_BYTES, byte(m, at.HIGH_PAGE + SB))
        set_word(m, at.SENT, sent + 1)
        set_word(m, at.SERIAL_END, now + TRANSFER)
    else:
        set_word(m, at.SERIAL_END, at.FAR)


@inlined
def end_serial(m: Machine) -> None:
    set_word(m, at.SERIAL_END, at.FAR)
    set_byte(m, at.HIGH_PAGE + SB, 0xFF)
    set_byte(m, at.HIGH_PAGE + SC, byte(m, at.HIGH_PAGE + SC) & 0x7F)
    request(m, 8)
