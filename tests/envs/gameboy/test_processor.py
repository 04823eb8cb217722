"""Every instruction against a reference: registers, flags, memory, and each access with its time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numba import njit

from pac.envs.gameboy import layout as at
from pac.envs.gameboy.arithmetic import calculate

from .cases import FlatConsole
from .programs import ran
from .reference import Processor, alu

ORDER = ("a", "b", "c", "d", "e", "f", "h", "l", "pc", "sp", "ime", "enabling")
ILLEGAL = (0xD3, 0xDB, 0xDD, 0xE3, 0xE4, 0xEB, 0xEC, 0xED, 0xF4, 0xFC, 0xFD)
CODES = [code for code in range(256) if code not in {0x10, 0x76, 0xCB, *ILLEGAL}]
EDGES = np.array([0x00, 0x01, 0x0F, 0x10, 0x7F, 0x80, 0x99, 0x9A, 0xF0, 0xFF])
WORDS = np.array([0x0000, 0x0001, 0x00FF, 0x0100, 0x0FFF, 0x1000, 0x7FFF, 0xFFFE, 0xFFFF])


@njit
def all_results(which, found):
    """Write A and F after an operation on all bytes, with and without carry."""
    for a in range(256):
        for b in range(256):
            for carry in range(2):
                found[a, b, carry] = calculate(carry << 12 | a, which, b)


@pytest.mark.thorough
def test_arithmetic_on_all_bytes():
    """Results and flags are those of the digits' sums and differences."""
    a, b, carry = np.ogrid[:256, :256, :2]
    found = np.empty((256, 256, 2), np.int64)
    for which in range(8):
        all_results(which, found)
        result, *flags = alu(which, a, b, carry)
        expected = sum(np.int64(flag) << 15 - place for place, flag in enumerate(flags))
        assert (found == (expected | (a if which == 7 else result))).all(), which


def compare(flat: tuple[FlatConsole, np.ndarray], code: tuple[int, ...], values: np.ndarray) -> None:
    """Run an instruction with these registers on both; the memory stays as it was."""
    console, memory = flat
    before = dict(zip(ORDER, values.tolist(), strict=True)) | {"enabling": 0}
    places = [(before["pc"] + index) % 65536 for index in range(len(code))]
    kept = memory[places]
    memory[places] = console.memory[places] = code
    reference = Processor(before, memory.copy())
    reference.set_pair("af", 256 * before["a"] + before["f"])
    reference.run()
    found = dict(zip(ORDER, console.run(np.array(values), np.empty((0, 2))), strict=True))
    expected = {name: int(reference.r[name]) for name in ORDER if name != "f"} | {"f": reference.pair("af") % 256}
    assert found == expected, (code, before)
    assert console.accesses() == [
        (time, where | value << 16 | wrote << 24) for time, where, value, wrote in reference.log
    ]
    assert console.words[at.CLOCK] == reference.time, code
    for _, where, *_ in reference.log:
        console.memory[where] = memory[where]
    memory[places] = console.memory[places] = kept


@pytest.fixture(scope="module")
def flat():
    """A console and its memory, which is random."""
    console = FlatConsole()
    console.memory[:65536] = np.random.default_rng(1).integers(0, 256, 65536)
    return console, console.memory[:65536].copy()


def states(count: int, seed: int) -> np.ndarray:
    """Return random registers, half of which are at a digit's edge."""
    random = np.random.default_rng(seed)
    found = np.where(
        random.random((count, 12)) < 0.5, random.choice(EDGES, (count, 12)), random.integers(256, size=(count, 12))
    )
    found[:, 5] &= 0xF0
    words = random.integers(65536, size=(count, 2))
    found[:, 8:10] = np.where(random.random((count, 2)) < 0.5, random.choice(WORDS, (count, 2)), words)
    found[:, 10] &= 1
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("prefix", [(), (0xCB,)])
def test_every_instruction(flat, prefix):
    """Each code does with random registers what the reference does."""
    for code in range(256) if prefix else CODES:
        for values in states(30, code):
            compare(flat, (*prefix, code), values)


@pytest.mark.thorough
@pytest.mark.parametrize("code", [(0x27,), (0x04,), (0x05,), *((0xCB, 8 * which) for which in range(8))])
def test_all_bytes(flat, code):
    """DAA, INC, DEC and shifts are compared for every byte and flag."""
    for value, flags in product(range(256), range(0, 256, 16) if code == (0x27,) else (0, 0x10)):
        compare(flat, code, np.array([value, value, 0, 0, 0, flags, 0, 0, 0xC000, 0xD000, 0, 0]))


@pytest.mark.thorough
def test_sums_of_words(flat):
    """ADD HL is compared at the edges of the digits; ADD SP, LD HL, SP + e and JR for every offset."""
    for hl, bc in product(WORDS, WORDS):
        compare(flat, (0x09,), np.array([0, bc >> 8, bc & 255, 0, 0, 0xF0, hl >> 8, hl & 255, 0xC000, 0xD000, 0, 0]))
    for code, sp, offset in product((0x18, 0xE8, 0xF8), WORDS[::2], range(256)):
        compare(flat, (code, offset), np.array([0, 0, 0, 0, 0, 0, 0, 0, 0xC000, sp, 0, 0]))


@pytest.mark.parametrize("code", ILLEGAL)
def test_an_illegal_code_stops_the_processor(code):
    """The instruction after it never runs."""
    console = ran(f"ld b, 1\n db {code}\n ld b, 2\nend:\n jr end", 1)
    assert console.words[at.LOCKED]
    assert console.registers["b"] == 1
