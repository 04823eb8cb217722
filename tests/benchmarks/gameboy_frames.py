"""Compares frames of the Game Boy with those of PyBoy, from power-on, with the same random inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pac.envs.gameboy.assembler import Program
from pac.envs.gameboy.cartridge import BANK, cartridge_of
from pac.envs.gameboy.console import Console
from pac.envs.gameboy.layout import CARTRIDGE_RAM, FRAME_CYCLES, PC, WHOLE
from pac.envs.gameboy.memory import map_banks

BUTTONS = ("right", "left", "up", "down", "a", "b", "select", "start")
HOLD = 8
"""Frames for which a set of buttons is held."""
FRAMES = 3000
WARM_UP = 80
"""Frames before a measurement of speed."""
LONGEST = 400_000
"""Frames of which inputs are recorded for a measurement of speed."""
SHADES = np.zeros(256, np.uint8)
SHADES[[255, 153, 85, 0]] = 0, 1, 2, 3
"""Shades by what PyBoy draws for them."""
ENTRY = 0x100
BOOT = """
 ld sp, $fffe
 ld a, $80
 ldh ($26), a
 ld a, $77
 ldh ($24), a
 ld a, $f3
 ldh ($25), a
 ld a, $fc
 ldh ($47), a
 ld a, $ff
 ldh ($48), a
 ldh ($49), a
 ld a, 1
 ldh ($0f), a
 ld a, $91
 ldh ($40), a
 ld bc, $01b0
 push bc
 pop af
 ld bc, $0013
 ld de, $00d8
 ld hl, $014d
 jp $fe
org $fe
 ldh ($50), a
"""
"""A boot ROM that both emulators run, so that they begin at the same T-cycle with equal registers and memory."""


class Comparison(NamedTuple):
    """The result of a comparison.

    Attributes:
        frames: Compared frames.
        differ: Number of frames in which a pixel differs.
        first: The first such frame, or -1.
    """

    frames: int
    differ: int
    first: int


def recorded_inputs(frames: int) -> NDArray[np.uint8]:
    """Return a button set for each frame: none or one at random, held for `HOLD` frames, as bits of `BUTTONS`."""
    chosen = np.random.default_rng(0).integers(10, size=frames // HOLD + 1)
    sets = np.where(chosen < len(BUTTONS), 1 << chosen, 0).astype(np.uint8)
    return np.repeat(sets, HOLD)[:frames]


def boot_bytes() -> bytes:
    """Return the boot ROM."""
    return bytes(Program(BOOT).rom[:ENTRY])


def booted_console(data: bytes, name: str, drawn: int = WHOLE) -> Console:
    """Return a console that has run the boot ROM, with all memory 0, as PyBoy has it."""
    console = Console(cartridge_of(data, name), drawn, booted=False)
    console.bytes[CARTRIDGE_RAM:] = 0
    real, rom = console.machine, console.cartridge.rom.copy()
    rom[:ENTRY] = np.frombuffer(boot_bytes(), np.uint8)
    console.machine = console.machine_with(rom)
    map_banks(console.machine)
    while console.words[PC] != ENTRY:
        console.run_until(console.clock + 1)
    console.machine = real
    return console


@contextmanager
def booted_pyboy(data: bytes) -> Iterator[Any]:
    """Yield a PyBoy that has run the boot ROM. Requires PyBoy 2."""
    padded = data.ljust(2 * BANK, b"\xff")
    with TemporaryDirectory() as folder:
        boot = Path(folder) / "boot.bin"
        boot.write_bytes(boot_bytes())
        made = import_module("pyboy").PyBoy(
            BytesIO(padded), window="null", sound_emulated=False, bootrom=str(boot), cgb=False, log_level="CRITICAL"
        )
    made.set_emulation_speed(0)
    try:
        for _ in range(2):  # the first tick ends when the boot ROM turns the screen on
            made.tick(1, True, False)
        yield made
    finally:
        made.stop(save=False)


def cycles_of(pyboy: Any) -> int:
    """Return the T-cycles of PyBoy since power on."""
    return int(pyboy._cycles())


def press_in_pyboy(pyboy: Any, before: int, now: int) -> None:
    """Change the pressed buttons of PyBoy from one set to another."""
    for index, name in enumerate(BUTTONS):
        if (before ^ now) >> index & 1:
            (pyboy.button_press if now >> index & 1 else pyboy.button_release)(name)


def compare_frames(data: bytes, name: str, frames: int = FRAMES) -> Comparison:
    """Compare every frame that PyBoy shows with the one of our console at the same T-cycle."""
    console = booted_console(data, name)
    differ, first, held = 0, -1, 0
    with booted_pyboy(data) as pyboy:
        console.run_until(cycles_of(pyboy))
        for frame, buttons in enumerate(recorded_inputs(frames).tolist()):
            press_in_pyboy(pyboy, held, buttons)
            console.press(buttons)
            held = buttons
            pyboy.tick(1, True, False)
            console.run_until(cycles_of(pyboy))
            if not np.array_equal(SHADES[pyboy.screen.ndarray[..., 0]], console.frame):
                differ, first = differ + 1, frame if first < 0 else first
    return Comparison(frames, differ, first)


def emulate_pyboy(data: bytes, frames: int) -> Iterator[float]:
    """Play recorded inputs in PyBoy without drawing; yield the frames' worth of T-cycles that passed, each time."""
    with booted_pyboy(data) as pyboy:
        held, before = 0, cycles_of(pyboy)
        for buttons in recorded_inputs(frames)[::HOLD].tolist():
            press_in_pyboy(pyboy, held, buttons)
            held = buttons
            pyboy.tick(HOLD, False, False)
            yield (cycles_of(pyboy) - before) / FRAME_CYCLES
            before = cycles_of(pyboy)


def emulate(data: bytes, name: str, frames: int, drawn: int) -> Iterator[float]:
    """Play the same inputs in our console; yield the same."""
    console = booted_console(data, name, drawn)
    for buttons in recorded_inputs(frames)[::HOLD].tolist():
        before = console.clock
        console.press(buttons)
        console.run_frames(HOLD)
        yield (console.clock - before) / FRAME_CYCLES


def played_per_second(play: Callable[[], Iterator[float]], seconds: float) -> float:
    """Return the frames per second of an emulator that yields numbers of played frames, without the first ones."""
    played = play()
    for _ in range(WARM_UP // HOLD):
        next(played)
    begin, frames, passed = perf_counter(), 0.0, 0.0
    for count in played:
        frames, passed = frames + count, perf_counter() - begin
        if passed >= seconds:
            break
    return frames / passed
