"""Frames of our emulator compared with PyBoy's, which is an extra; games come from `PAC_GAMEBOY_ROMS`."""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from pac.envs.gameboy.cartridge import own_bytes

from .gameboy_frames import FRAMES, booted_console, compare_frames, recorded_inputs

FOLDER = "PAC_GAMEBOY_ROMS"
EQUAL = ("adjustris", "battlegrounds", "libbet", "plantboy")
"""Games all of whose frames are equal; docs/gameboy.md lists others."""


def test_the_boot_rom_leaves_the_registers_of_the_hardware():
    """A console that runs the boot ROM of the comparison begins a game at 0100 like one that skips it."""
    found = booted_console(own_bytes("catch"), "catch").registers
    assert [found[name] for name in ("pc", "sp", *"afbcdehl")] == [256, 0xFFFE, 1, 0xB0, 0, 0x13, 0, 0xD8, 1, 0x4D]


def test_recorded_inputs_do_not_depend_on_the_length():
    """A longer recording begins with the inputs of a shorter one."""
    assert np.array_equal(recorded_inputs(80), recorded_inputs(8000)[:80])


@pytest.mark.skipif(find_spec("pyboy") is None, reason="PyBoy is not installed")
@pytest.mark.filterwarnings("ignore:Using SDL2 binaries")
@pytest.mark.slow
@pytest.mark.parametrize("name", EQUAL)
def test_every_frame_of_a_game_is_equal_to_pyboys(name: str):
    """With random inputs from power on, no pixel of 3,000 frames differs."""
    if FOLDER not in os.environ:
        pytest.skip(f"{FOLDER} is not set")
    path = next(Path(os.environ[FOLDER]).rglob(f"{name}.gb"), None)
    if path is None:
        pytest.skip(f"{name}.gb is not in {FOLDER}")
    assert compare_frames(path.read_bytes(), name) == (FRAMES, 0, -1)
