"""Frames whose lines are recorded and drawn later, and steps by the kernels that a GPU runs one after the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pac.envs.gameboy.console import Console
from pac.envs.gameboy.layout import FRAME, FRAME_BYTES, HALF, HIDDEN, WORDS, RecordingMachine
from pac.envs.gameboy.lines import clear_frame, draw_recorded_byte
from pac.envs.native import ALL_LEGAL

from ..begun import begun, step_by_phases
from .programs import cartridge

STEPS = 25
BEGIN = 450_000
"""T-cycles to the middle of the second frame after a program has switched the screen on."""
SETUP = """
    xor a
    ldh ($40), a
    ld hl, $8000
fill:                       ; tiles and maps
    ld a, l
    xor h
    ld (hl+), a
    ld a, h
    cp $a0
    jr nz, fill
    ld hl, $c100
sprites:
    ld (hl), l
    inc l
    jr nz, sprites
    ld a, $c1
    ldh ($46), a
    ld a, $e4
    ldh ($47), a
    ldh ($48), a
    cpl
    ldh ($49), a
    ld a, 40
    ldh ($4a), a
    ldh ($4b), a
    ld a, $f7
    ldh ($40), a
    ld hl, $8000
change:
"""
IN_MODE_0 = " ldh a, ($41)\n and 3\n jr nz, change\n inc b\n ld (hl), b\n"
AT_LINE = " ldh a, ($44)\n cp {}\n jr nz, change\n"
ONCE = "past:\n ldh a, ($44)\n cp 70\n jr z, past\n"
PROGRAMS = {
    "tiles": f"{IN_MODE_0} inc hl\n res 4, h\n",
    "sprites": f"{IN_MODE_0} ld h, $fe\n inc l\n ld a, l\n cp $a0\n jr c, change\n ld l, 0\n",
    "transfers": " ld hl, $c100\nmore:\n inc (hl)\n inc l\n jr nz, more\n ld a, $c1\n ldh ($46), a\n",
    "cells in the vertical blank": f"{AT_LINE.format(144)} ld h, $98\n inc (hl)\n inc l\n",
    "registers": " inc b\n ld a, b\n ldh ($43), a\n swap a\n ldh ($42), a\n ldh ($47), a\n cpl\n ldh ($48), a\n"
    " rrca\n ldh ($49), a\n ldh ($4b), a\n or $80\n ldh ($40), a\n",
    "screen off": f"{AT_LINE.format(70)} inc b\n ld a, b\n and 1\n jr nz, past\n"
    f" ldh ($40), a\n ld a, $f7\n ldh ($40), a\n{ONCE}",
    "locked": f"{AT_LINE.format(70)} inc b\n ld a, b\n cp 45\n jr z, lock\n{ONCE} jr change\nlock:\n db $d3\n",
}
"""What programs change, again and again, while frames are drawn."""


def program(name: str) -> str:
    """Return a program that changes something."""
    return f"{SETUP}{PROGRAMS[name]} jr change"


def lines_of(console: Console) -> NDArray[np.uint8]:
    """Return the bytes of a state in which lines are recorded."""
    return console.block[8 * WORDS + FRAME :][:FRAME_BYTES]


def in_the_middle_of_a_frame(name: str, *, recorded: bool) -> Console:
    """Return a console that draws or records lines from now on."""
    console = Console(cartridge(program(name)), HALF)
    console.machine = console.machine_with(console.cartridge.rom, drawn=HIDDEN)
    console.run_until(BEGIN)
    machine = console.machine_with(console.cartridge.rom)
    console.machine = RecordingMachine(*machine) if recorded else machine
    lines_of(console)[:] = 0x55
    clear_frame(console.machine)
    return console


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_frame_that_is_drawn_later_equals_one_that_is_drawn_at_once(name: str):
    """Whatever changes after a line is recorded, and whenever the recorded lines are drawn."""
    now, later = (in_the_middle_of_a_frame(name, recorded=recorded) for recorded in (False, True))
    seen = set()
    for _ in range(60):
        for console in (now, later):
            console.run_until(console.clock + 3_999)
        for place in range(FRAME_BYTES):
            draw_recorded_byte(later.machine, place)
        assert np.array_equal(now.frame_data, later.frame_data)
        seen.add(now.frame_data.tobytes())
    assert len(seen) > 10
    lines_of(later)[:] = lines_of(now)
    assert np.array_equal(now.words, later.words)


@pytest.mark.thorough
@pytest.mark.timeout(900)  # compiles for most of it
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_phases_equal_a_step(tmp_path: Path, name: str):
    """Every byte of every field; where the processor locks before the drawn frame, it is white."""
    (tmp_path / "test.gb").write_bytes(cartridge(program(name)).rom.tobytes())
    (tmp_path / "test.yaml").write_text("title: Test\nactions: ['', a]\nframes: 3\npress: 1\nsteps: 9\n")
    (_, expected, whole), (_, found, parts) = (begun(f"gameboy:rom={tmp_path / 'test.gb'}", 2, 2) for _ in range(2))
    for step in range(STEPS):
        slot = step % 2
        expected["action"][slot] = found["action"][slot] = [step % 2, 1]
        whole.step(slot)
        assert set(step_by_phases(parts, slot)) == {ALL_LEGAL}
        for field, array in expected.items():
            assert array.tobytes() == found[field].tobytes(), f"{field} after {step + 1} steps"
