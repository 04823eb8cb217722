"""Test ROMs by others, from the folder that `PAC_GAMEBOY_ROMS` names; none is part of the repository."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pac.envs.gameboy.cartridge import read_cartridge
from pac.envs.gameboy.console import Console
from pac.envs.gameboy.layout import SENT, VIDEO

FOLDER = "PAC_GAMEBOY_ROMS"
BLARGG = {
    "cpu_instrs/cpu_instrs.gb": 3600,
    "instr_timing/instr_timing.gb": 100,
    "mem_timing/mem_timing.gb": 200,
    "mem_timing-2/mem_timing.gb": 400,
    "halt_bug.gb": 300,
}
"""ROMs that report in text, and frames until they have."""
TIMER = (
    *("div_write", "rapid_toggle", "tim00", "tim00_div_trigger", "tim01", "tim01_div_trigger", "tim10"),
    *("tim10_div_trigger", "tim11", "tim11_div_trigger", "tima_reload", "tima_write_reloading", "tma_write_reloading"),
)
MBC1 = (
    *("bits_bank1", "bits_bank2", "bits_mode", "bits_ramg", "multicart_rom_8Mb", "ram_256kb", "ram_64kb", "rom_16Mb"),
    *("rom_1Mb", "rom_2Mb", "rom_4Mb", "rom_512kb", "rom_8Mb"),
)
MBC5 = ("rom_16Mb", "rom_1Mb", "rom_2Mb", "rom_32Mb", "rom_4Mb", "rom_512kb", "rom_64Mb", "rom_8Mb")
TIER_A = (
    *("bits/mem_oam", "bits/reg_f", "instr/daa", *(f"timer/{name}" for name in TIMER), "div_timing", "ei_sequence"),
    *("ei_timing", "rapid_di_ei", "if_ie_registers", "intr_timing", "reti_intr_timing", "reti_timing"),
    *("halt_ime0_ei", "halt_ime0_nointr_timing", "halt_ime1_timing", "oam_dma/basic", "oam_dma/reg_read"),
    *("oam_dma/sources-GS", *(f"mbc1/{name}" for name in MBC1), *(f"mbc5/{name}" for name in MBC5)),
)
TIER_B = (
    *("call_timing", "call_timing2", "call_cc_timing", "call_cc_timing2", "jp_timing", "jp_cc_timing", "ret_timing"),
    *("ret_cc_timing", "push_timing", "pop_timing", "rst_timing", "add_sp_e_timing", "ld_hl_sp_e_timing"),
    *("oam_dma_start", "oam_dma_timing", "oam_dma_restart", "di_timing-GS", "halt_ime1_timing2-GS"),
    *("interrupts/ie_push", "ppu/vblank_stat_intr-GS", "ppu/intr_1_2_timing-GS", "ppu/intr_2_0_timing"),
    *("ppu/intr_2_mode0_timing", "ppu/intr_2_mode3_timing", "ppu/stat_irq_blocking", "ppu/stat_lyc_onoff"),
    *(
        "ppu/intr_2_mode0_timing_sprites",
        "ppu/intr_2_oam_ok_timing",
        "ppu/lcdon_timing-GS",
        "ppu/lcdon_write_timing-GS",
    ),
    *("ppu/hblank_ly_scx_timing-GS", "boot_div-dmgABCmgb"),
)


MICRO = (
    *(f"lcdon_to_ly{line}_{half}" for line in (1, 2, 3) for half in "ab"),
    *("int_timer_halt_div_a", "int_timer_halt_div_b"),
)
"""ROMs of GBMicrotest; of each pair, PyBoy 2.8.1 fails the second one, which is why its frames of 2048-gb differ."""
FIBONACCI = {"b": 3, "c": 5, "d": 8, "e": 13, "h": 21, "l": 34}
MOST_FRAMES = 1500

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not os.environ.get(FOLDER), reason=f"{FOLDER} is not set")]


@cache
def files() -> list[Path]:
    """Return all ROMs of the folder."""
    return sorted(Path(os.environ[FOLDER]).rglob("*.gb"))


def rom(ending: str, folder: str = "") -> Path:
    """Return the ROM whose path ends so, in a folder of that name; skip the test if there is none."""
    others = "wilbertpol" if folder else "gbmicrotest"  # which have other ROMs of the same names
    for path in files():
        text = path.as_posix().lower()
        if text.endswith(f"/{ending.lower()}") and f"/{folder}" in text and others not in text:
            return path
    pytest.skip(f"{ending} is not in {FOLDER}")


def screen_text(console: Console) -> str:
    """Return the characters of the background, whose tiles are numbered by ASCII."""
    tiles = console.bytes[VIDEO + 0x1800 : VIDEO + 0x1C00].tolist()
    return "".join(chr(tile) if 32 <= tile < 127 else " " for tile in tiles)


def report(console: Console, frames: int) -> str:
    """Return what a ROM reports within so many frames: in serial text, in the cartridge's RAM, or on the screen."""
    text, seen = "", 0
    for _ in range(frames):
        console.run_frames(1)
        sent = int(console.words[SENT])
        last = bytes(console.serial())
        text, seen = text + last[len(last) - (sent - seen) :].decode("latin1") if sent > seen else text, sent
        if "Passed" in text or "Failed" in text:
            return text
        if [console.peek(address) for address in range(0xA001, 0xA004)] == [0xDE, 0xB0, 0x61]:
            result = console.peek(0xA000)
            if result != 0x80:
                return "Passed" if result == 0 else f"Failed with result {result}"
    return text + screen_text(console)


@pytest.mark.parametrize("name", BLARGG)
def test_a_rom_that_reports_in_text_passes(name: str):
    """Processor, its timing and the HALT bug are as on the hardware."""
    assert "Passed" in report(Console(read_cartridge(rom(name))), BLARGG[name])


@pytest.mark.parametrize("name", [*TIER_A, *TIER_B])
def test_a_mooneye_rom_passes(name: str):
    """A ROM ends with Fibonacci numbers in the registers if all its assertions hold."""
    console = Console(read_cartridge(rom(f"{name}.gb", "mooneye")))
    for _ in range(MOST_FRAMES // 10):
        console.run_frames(10)
        if FIBONACCI.items() <= console.registers.items():
            break
        if all(console.registers[key] == 0x42 for key in FIBONACCI):
            break
    assert FIBONACCI.items() <= console.registers.items()


@pytest.mark.parametrize("name", MICRO)
def test_a_rom_of_gbmicrotest_passes(name: str):
    """LY after the screen is switched on, and DIV after an interrupt, are read at the right machine cycle."""
    console = Console(read_cartridge(rom(f"{name}.gb", "gbmicrotest")))
    console.run_frames(4)
    assert console.peek(0xFF82) == 1


def test_the_picture_of_dmg_acid2_is_exact():
    """Background, window and sprites are drawn as on the hardware, in every pixel."""
    from PIL import Image

    console = Console(read_cartridge(rom("dmg-acid2.gb")))
    console.run_frames(30)
    pictures = Path(os.environ[FOLDER]).rglob("reference-dmg.png")
    with Image.open(next(pictures, None) or pytest.skip("reference-dmg.png is missing")) as image:
        expected = np.asarray(image.convert("L"))
    assert np.array_equal(np.array([255, 170, 85, 0])[console.frame], expected)
