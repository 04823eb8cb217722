"""The assembler, and the cartridges that it makes."""

from __future__ import annotations

import pytest

from pac.envs.gameboy.assembler import ENCODINGS, BadSource, Program
from pac.envs.gameboy.cartridge import DIGESTS, own_cartridge


def test_every_code_has_one_text():
    """All 244 codes without a prefix and the 256 with one occur once."""
    codes = list(ENCODINGS.values())
    assert len(codes) == len(set(codes)) == 244 + 256


def test_operands_labels_and_directives():
    """Relative jumps, words, low and high bytes, and sums are assembled."""
    program = Program("org $10\nat:\n jr at\n ld hl, at + 2\n ld a, <at\n ldh ($40), a\n db 1, %11, >at\n ld hl, sp+4")
    assert program.rom[0x10:0x1E].hex() == "18fe2112003e10e0400103" + "00f804"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("nop\nld q, 1", "line 2, 'ld q, 1', cannot be assembled: it is no instruction"),
        ("jp nowhere", "nowhere is not defined"),
        ("at:\nds 200\njr at", "too far for jr"),
        ("org $8000\nnop", "beyond the 32768 bytes"),
    ],
)
def test_bad_lines_are_named(source: str, complaint: str):
    """An error names the line and what is wrong."""
    with pytest.raises(BadSource, match=complaint):
        Program(source)


@pytest.mark.parametrize("name", DIGESTS)
def test_cartridges_have_their_hashes(name: str):
    """The assembled files are those whose hashes are pinned."""
    assert own_cartridge(name).title == f"PAC {name.upper()}"
