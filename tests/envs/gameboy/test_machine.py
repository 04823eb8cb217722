"""The console: arithmetic, interrupts, timer, sprites' memory, cartridges."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs.gameboy import layout as at
from pac.envs.gameboy.cartridge import own_cartridge
from pac.envs.gameboy.console import Console

from .programs import cartridge, numbered_banks, ran


def test_decimal_arithmetic():
    """DAA corrects sums and differences of decimal digits."""
    console = ran("ld a, $45\n add a, $38\n daa\n ld b, a\n sub $54\n daa\n ld c, a\nend:\n jr end")
    assert (console.registers["b"], console.registers["c"]) == (0x83, 0x29)


def test_the_timer_interrupts_a_halted_processor():
    """After 16 ticks of 16 T-cycles, HALT ends and the interrupt is served."""
    source = (
        "ld a, $f0\n ldh ($05), a\n ld a, 5\n ldh ($07), a\n ld a, 4\n ldh ($ff), a\n ei\n halt\n nop\nend:\n jr end"
    )
    console = ran(source, 1, "org $50\n ld b, 77\n reti")
    assert console.registers["b"] == 77


def test_halt_without_enabled_interrupts_runs_on():
    """With IME off and an interrupt pending, the byte after HALT is read twice."""
    console = ran("di\n ld a, 1\n ldh ($ff), a\n ldh ($0f), a\n ld b, 0\n halt\n inc b\n nop\nend:\n jr end")
    assert console.registers["b"] == 2


def test_sprites_are_copied_and_locked():
    """OAM DMA copies 160 bytes; until it ends, the sprites' memory reads as FF."""
    fill = "ld hl, $c100\nfill:\n ld (hl), l\n inc l\n jr nz, fill\n"
    copy = " ld a, $c1\n ldh ($46), a\n nop\n nop\n ld a, ($fe05)\n ld b, a\n"
    wait = " ld c, 200\nwait:\n dec c\n jr nz, wait\n"
    console = ran(f"{fill}{copy}{wait} ld a, ($fe05)\n ld d, a\nend:\n jr end")
    assert (console.registers["b"], console.registers["d"]) == (0xFF, 5)


def test_a_line_sees_the_sprites_that_are_copied_so_far():
    """OAM DMA copies a byte per machine cycle, so that a line within the transfer is drawn with a part of them."""
    fill = "ld hl, $c100\nfill:\n ld (hl), 1\n inc l\n jr nz, fill\n ld a, $91\n ldh ($40), a\n"
    console = Console(cartridge(f"{fill} ld a, $c1\n ldh ($46), a\nend:\n jr end"))
    seen = set()
    while console.clock < at.FRAME_CYCLES:
        console.run_until(console.clock + 4)
        copied = int(console.words[at.DMA_COPIED])
        seen.add(copied)
        assert console.bytes[at.OAM : at.OAM + 160].tolist() == [1] * copied + [0] * (160 - copied)
    assert {0, 160} < seen


def test_video_memory_is_refused_in_mode_3():
    """While the screen draws a line, video memory reads as FF and keeps what it has."""
    fill = "ld a, 0\n ldh ($40), a\n ld a, $42\n ld ($8000), a\n ld a, $80\n ldh ($40), a\n"
    wait = "wait:\n ldh a, ($41)\n and 3\n cp 3\n jr nz, wait\n"
    touch = " ld a, ($8000)\n ld b, a\n ld a, $11\n ld ($8000), a\n"
    console = ran(f"{fill}{wait}{touch} ld a, 0\n ldh ($40), a\n ld a, ($8000)\n ld c, a\nend:\n jr end")
    assert (console.registers["b"], console.registers["c"]) == (0xFF, 0x42)


def test_pressed_buttons_are_read():
    """P1 shows the selected half of the buttons, 0 for what is pressed."""
    console = Console(cartridge("loop:\n ld a, $20\n ldh ($00), a\n ldh a, ($00)\n ld b, a\n jr loop"))
    console.press(0b10_0101)
    console.run_frames(2)
    assert console.registers["b"] & 15 == 0b1010


@pytest.mark.parametrize(
    ("banks", "chosen", "expected"), [(512, (255, 256, 511, 0), (255, 256, 511, 0)), (256, (255, 257), (255, 1))]
)
def test_mbc5_maps_banks_by_nine_bits(banks: int, chosen: tuple[int, ...], expected: tuple[int, ...]):
    """A ROM of 8 MiB has 512 banks, bank 0 among them; in one of 4 MiB the ninth bit has no effect."""
    lines = []
    for index, bank in enumerate(chosen):
        lines += [f"ld a, {bank & 255}", "ld ($2000), a", f"ld a, {bank >> 8}", "ld ($3000), a"]
        for byte in range(2):
            lines += [f"ld a, ($400{byte})", f"ld ($c0{index}{byte}), a"]
    console = Console(numbered_banks("\n".join([*lines, "end:", "jr end"]), banks))
    console.run_frames(1)
    found = [console.peek(0xC000 + 16 * i) | console.peek(0xC001 + 16 * i) << 8 for i in range(len(chosen))]
    assert tuple(found) == expected


def test_an_illegal_code_locks_the_processor():
    """An illegal code stops the processor for ever, and `run` reports it."""
    console = Console(cartridge("db $d3"))
    assert console.run_frames(3) == at.STUCK


def test_a_restored_block_continues_equally():
    """A console that runs on and one that continues from its block have the same state."""
    first, second = Console(own_cartridge("catch")), Console(own_cartridge("catch"))
    first.run_frames(7)
    second.words[:] = first.words
    for console in (first, second):
        console.press(2)
        console.run_frames(9)
    assert np.array_equal(first.words, second.words)
    assert np.array_equal(first.frame, second.frame)


def test_the_screen_is_white_while_it_is_off():
    """A frame that was drawn disappears when a program turns the screen off."""
    draw = "ld a, $ff\n ldh ($47), a\n ld bc, 12000\n"
    wait = "wait:\n dec bc\n ld a, b\n or c\n jr nz, wait\n"
    console = Console(cartridge(f"{draw}{wait} ld a, 1\n ldh ($40), a\nend:\n jr end"))
    console.run_frames(3)
    assert (console.frame == 3).any()
    console.run_frames(8)
    assert not console.frame.any()


def test_a_screen_without_background_has_color_0_of_the_palette():
    """Not white, unless the palette says so."""
    console = Console(cartridge("ld a, $02\n ldh ($47), a\n ld a, $80\n ldh ($40), a\nend:\n jr end"))
    console.run_frames(3)
    assert (console.frame == 2).all()
