"""Timer, interrupts and transfers at exact machine cycles, against a timer that counts every cycle."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs.gameboy import layout as at
from pac.envs.gameboy.console import Console

from .programs import cartridge

DIV, TIMA, TMA, TAC, IF = 4, 5, 6, 7, 15
HANDLERS = "".join(f"org ${0x40 + 8 * bit:x}\n ld a, {bit}\n ld (hl+), a\n reti\n" for bit in range(5))


class Timer:
    """The timer, counted cycle by cycle: TIMA goes up when a bit of the divider falls, or the switch in TAC does."""

    def __init__(self) -> None:
        self.divider = self.tima = self.tma = self.tac = self.requested = 0
        self.due = self.loaded = False

    @property
    def signal(self) -> int:
        """The bit whose fall counts."""
        return self.divider >> (9, 3, 5, 7)[self.tac & 3] & self.tac >> 2 & 1

    def change(self, *, divider: int, tac: int) -> None:
        """Change what the signal depends on; count if it falls."""
        before = self.signal
        self.divider, self.tac = divider, tac
        if before and not self.signal:
            self.tima = (self.tima + 1) % 256
            self.due |= self.tima == 0

    def cycle(self) -> None:
        """Count a machine cycle."""
        self.loaded = self.due
        if self.due:
            self.tima, self.requested, self.due = self.tma, 4, False
        self.change(divider=(self.divider + 4) % 65536, tac=self.tac)

    def read(self, register: int) -> int:
        """Return a register's value at the end of the cycle."""
        return {DIV: self.divider >> 8, TIMA: self.tima, TMA: self.tma, TAC: self.tac | 0xF8, IF: self.requested}[
            register
        ]

    def write(self, register: int, value: int) -> None:
        """Write a register at the end of the cycle."""
        if register == DIV:
            self.change(divider=0, tac=self.tac)
        elif register == TAC:
            self.change(divider=self.divider, tac=value & 7)
        elif register == TMA:
            self.tma = value
            self.tima = value if self.loaded else self.tima
        elif register == IF:
            self.requested = value & 4
        elif not self.loaded:
            self.tima, self.due = value, False


@pytest.mark.parametrize("seed", range(60))
def test_the_timer_counts_as_one_that_counts_every_cycle(seed):
    """Reads and writes at random cycles see the same divider, counter and request."""
    random, timer = np.random.default_rng(seed), Timer()
    code, expected = [], []

    def pass_cycles(count: int) -> None:
        for _ in range(count):
            timer.cycle()

    for _ in range(60):
        wait, register = int(random.integers(0, 9)), int(random.choice([DIV, TIMA, TIMA, TMA, TAC, IF]))
        code += [0] * wait
        if random.random() < 0.6:
            pass_cycles(wait + 3)
            expected.append((timer.read(register), 4 if register == IF else 255))
            code += [0xF0, register, 0x22]  # ldh a, (register); ld (hl+), a
            pass_cycles(2)
        else:
            values = {TAC: [4, 5, 5, 5, 6, 7, 0, 1], TIMA: [0xFD, 0xFE, 0xFF, 0], TMA: [0xFC, 0xFE, 0xFF, 7]}
            value = int(random.choice(values.get(register, [0])))
            pass_cycles(wait + 5)
            timer.write(register, value)
            code += [0x3E, value, 0xE0, register]  # ld a, value; ldh (register), a
    start = "xor a\n ldh ($07), a\n ldh ($05), a\n ldh ($06), a\n ldh ($0f), a\n ld hl, $c000\n ldh ($04), a\n"
    console = Console(cartridge(f"{start} db {', '.join(map(str, code))}\nend:\n jr end"))
    console.run_until(8_000)
    found = console.bytes[at.WORK : at.WORK + len(expected)].tolist()
    assert [value & mask for value, (_, mask) in zip(found, expected, strict=True)] == [value for value, _ in expected]


def steps(source: str, count: int, vectors: str = HANDLERS) -> tuple[Console, list[tuple[int, int]]]:
    """Run so many instructions of a program, with HL at C000; return the T-cycles and the address after each."""
    console = Console(cartridge(f"ld hl, $c000\nld sp, $d000\nxor a\nldh ($0f), a\n{source}", vectors))
    console.run_until(16 + 4 + 12 + 12 + 4 + 12)
    found = []
    for _ in range(count):
        before = console.clock
        console.run_until(before + 1)
        found.append((console.clock - before, console.registers["pc"]))
    return console, found


PENDING = "ld a, {enabled}\nldh ($ff), a\nld a, {requested}\nldh ($0f), a\n"
BODY = 0x150 + 9  # where a program of `steps` begins after its head


def test_interrupts_are_served_in_their_order():
    """EI takes effect after the next instruction, RETI at once; a service takes five machine cycles."""
    console, found = steps(f"{PENDING.format(enabled=31, requested=21)} ei\n inc b\n inc c\nend:\n jr end", 16)
    main = BODY + 10
    served = [(28, 0x42 + 8 * bit, 0x43 + 8 * bit) for bit in (0, 2, 4)]
    expected = [part for time, first, second in served for part in ((time, first), (8, second), (16, main))]
    assert found[4:] == [(4, main - 1), (4, main), *expected, (4, main + 1)]
    assert console.bytes[at.WORK : at.WORK + 3].tolist() == [0, 2, 4]
    assert console.peek(0xFF0F) == 0xE0


@pytest.mark.parametrize("bit", range(5))
def test_only_an_enabled_and_requested_interrupt_is_served(bit):
    """The others stay requested, and others stay enabled."""
    after = BODY + 10
    console, found = steps(f"{PENDING.format(enabled=1 << bit, requested=31)} ei\n nop\nend:\n jr end", 7)
    assert found[-1] == (28, 0x42 + 8 * bit)
    assert console.peek(0xFF0F) == 0xFF & ~(1 << bit)
    assert console.peek(0xFFFF) == 1 << bit
    assert [console.peek(0xCFFE), console.peek(0xCFFF)] == [after & 255, after >> 8]
    _, found = steps(f"{PENDING.format(enabled=31 & ~(1 << bit), requested=1 << bit)} ei\n nop\nend:\n jr end", 8)
    assert found[-2:] == [(12, after), (12, after)]


def test_di_after_ei_lets_no_interrupt_pass():
    """Nothing is served between the two."""
    _, found = steps(f"{PENDING.format(enabled=31, requested=31)} ei\n di\n nop\nend:\n jr end", 8)
    assert found[4:] == [(4, BODY + 9), (4, BODY + 10), (4, BODY + 11), (12, BODY + 11)]


@pytest.mark.parametrize(("requested", "target", "left"), [(4, 0x00, 4), (5, 0x40, 4)])
def test_a_push_can_disable_the_interrupt_that_is_served(requested, target, left):
    """The first push, of the address's high byte, writes IE; the next pending one is served, or 0000 is next."""
    source = f"ld sp, 0\n{PENDING.format(enabled=4, requested=requested)} ei\n nop\nend:\n jr end"
    console, found = steps(source, 8, "nop\n org $40\n nop")
    assert found[-1] == (24, target + 1)
    assert console.peek(0xFF0F) == 0xE0 | left
    assert console.peek(0xFFFF) == 1


@pytest.mark.parametrize(("enabling", "after"), [("nop", [(4, 1)]), ("ei", [(28, 0x52)])])
def test_halt_ends_with_the_cycle_of_the_request(enabling, after):
    """The timer overflows 32 T-cycles after the divider was reset, and requests its interrupt four later."""
    start = "ld a, 4\n ldh ($ff), a\n ld a, $ff\n ldh ($05), a\n ldh ($04), a\n ld a, 5\n ldh ($07), a\n"
    _, found = steps(f"{start} {enabling}\n halt\n inc b\nend:\n jr end", 12)
    halted = BODY + 16
    assert found[8:] == [(4, halted)] * 3 + [(time, halted + pc if pc == 1 else pc) for time, pc in after]


@pytest.mark.parametrize(("waited", "read"), [(0, 0xFF), (158, 0xFF), (159, 0xFF), (160, 7)])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_transfer_locks_the_sprites_for_160_cycles(waited, read, restarted):
    """From the second machine cycle after the write on; another write in between begins anew."""
    fill = "xor a\n ldh ($40), a\nfill:\n ld (hl), 7\n inc l\n jr nz, fill\n ld hl, $fe9f\n ld a, $c0\n"
    again = f"ldh ($46), a\n db {', '.join(['0'] * 50)}\n" if restarted else ""
    wait = f"db {', '.join(['0'] * waited)}\n" if waited else ""
    console = Console(cartridge(f"ld hl, $c000\n{fill}{again}ldh ($46), a\n{wait} ld a, (hl)\n ld b, a\nend:\n jr end"))
    console.run_until(20_000)
    assert console.registers["b"] == read


def test_a_byte_is_sent_in_4096_t_cycles():
    """The serial port requests its interrupt then; nothing is at the other end."""
    source = "ld a, $42\n ldh ($01), a\n ld a, $81\n ldh ($02), a\nend:\n jr end"
    console, _ = steps(source, 4)
    sent = console.clock
    for clock, value in ((sent + 4_095, 0x42), (sent + 4_096, 0xFF)):
        console.words[at.CLOCK] = clock
        assert console.peek(0xFF01) == value
    assert console.peek(0xFF0F) & 8
    assert list(console.serial()) == [0x42]
