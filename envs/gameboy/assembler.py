"""A small assembler, for cartridges of our own.

A line is `label:`, an instruction, or one of the directives `org ADDRESS`, `db VALUE, ...` and `ds COUNT`. Comments
begin with `;`. Numbers are decimal, `$` hexadecimal or `%` binary. A value is a sum of numbers and labels, and `<` or
`>` before it takes its low or high byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ..errors import PacError

TEXT_COLUMNS = 14
LENGTH = TEXT_COLUMNS
"""The column of a text's row that has the bytes of the instruction."""
BYTE, PAIR, TARGET = 1, 2, 3
"""In a text, the places of an operand: a byte, two bytes, and the address that a byte jumps to."""
OPERANDS = {"n16": (PAIR, 2), "n8": (BYTE, 1), "e8": (BYTE, 1)}
PREFIX = 0xCB


def code_texts() -> NDArray[np.uint8]:
    """Return `(512, TEXT_COLUMNS + 1)`: the text of every operation, then of those after CB, and their lengths.

    A character below 4 is the place of an operand.
    """
    found = np.full((512, TEXT_COLUMNS + 1), ord(" "), np.uint8)
    found[:, LENGTH] = 1
    for number in range(256):
        _write(found[number], f"db ${number:02x}")
    for text, code in ENCODINGS.items():
        row = found[code[-1] + 256 * (code[0] == PREFIX and len(code) > 1)]
        row[LENGTH] = len(code)
        for name, (mark, size) in OPERANDS.items():
            if name in text:
                text = text.replace(name, chr(TARGET if text.startswith("jr ") else mark))  # noqa: PLW2901
                row[LENGTH] += size
        _write(row, text)
    return found


def _write(row: NDArray[np.uint8], text: str) -> None:
    row[:TEXT_COLUMNS] = np.frombuffer(text.ljust(TEXT_COLUMNS).encode("ascii"), np.uint8)


ROM_BYTES = 0x8000
REGISTERS = ("b", "c", "d", "e", "h", "l", "(hl)", "a")
PAIRS = ("bc", "de", "hl", "sp")
CONDITIONS = ("nz", "z", "nc", "c")
ARITHMETIC = ("add a,", "adc a,", "sub ", "sbc a,", "and ", "xor ", "or ", "cp ")
SHIFTS = ("rlc", "rrc", "rl", "rr", "sla", "sra", "swap", "srl")
OPERAND_BYTES = {"n8": 1, "e8": 1, "n16": 2}


class BadSource(PacError):
    """A line of a program cannot be assembled."""

    title = "Bad program"


def _encodings() -> Iterator[tuple[str, bytes]]:
    """Return every instruction with its code; operands that follow the code are `n8`, `e8` and `n16`."""
    plain = {"nop": 0x00, "stop": 0x10, "halt": 0x76, "ret": 0xC9, "reti": 0xD9, "di": 0xF3, "ei": 0xFB, "jr e8": 0x18}
    plain |= {"jp n16": 0xC3, "call n16": 0xCD, "jp hl": 0xE9, "add sp,e8": 0xE8, "ld hl,sp+e8": 0xF8, "ld sp,hl": 0xF9}
    plain |= {"ld (n16),sp": 0x08, "ldh (n8),a": 0xE0, "ldh a,(n8)": 0xF0, "ldh (c),a": 0xE2, "ldh a,(c)": 0xF2}
    plain |= {"ld (n16),a": 0xEA, "ld a,(n16)": 0xFA}
    plain |= dict(zip(("rlca", "rrca", "rla", "rra", "daa", "cpl", "scf", "ccf"), range(0x07, 0x40, 8), strict=True))
    for row, place in enumerate(("(bc)", "(de)", "(hl+)", "(hl-)")):
        plain |= {f"ld {place},a": 0x02 + 16 * row, f"ld a,{place}": 0x0A + 16 * row}
    for row, name in enumerate(PAIRS):
        plain |= {f"ld {name},n16": 0x01 + 16 * row, f"inc {name}": 0x03 + 16 * row, f"dec {name}": 0x0B + 16 * row}
        plain |= {f"add hl,{name}": 0x09 + 16 * row}
    for row, name in enumerate(("bc", "de", "hl", "af")):
        plain |= {f"pop {name}": 0xC1 + 16 * row, f"push {name}": 0xC5 + 16 * row}
    for row, name in enumerate(CONDITIONS):
        plain |= {f"jr {name},e8": 0x20 + 8 * row, f"ret {name}": 0xC0 + 8 * row, f"jp {name},n16": 0xC2 + 8 * row}
        plain |= {f"call {name},n16": 0xC4 + 8 * row}
    for row, name in enumerate(REGISTERS):
        plain |= {f"inc {name}": 0x04 + 8 * row, f"dec {name}": 0x05 + 8 * row, f"ld {name},n8": 0x06 + 8 * row}
        plain |= {
            f"ld {name},{other}": 0x40 + 8 * row + column
            for column, other in enumerate(REGISTERS)
            if row != 6 or column != 6
        }
    for row, name in enumerate(ARITHMETIC):
        plain |= {f"{name}{other}": 0x80 + 8 * row + column for column, other in enumerate(REGISTERS)}
        plain |= {f"{name}n8": 0xC6 + 8 * row, f"rst {8 * row}": 0xC7 + 8 * row}
    yield from ((text, bytes([code])) for text, code in plain.items())
    for row in range(32):
        name = f"{SHIFTS[row]} " if row < 8 else f"{('bit', 'res', 'set')[row // 8 - 1]} {row % 8},"
        yield from ((f"{name}{other}", bytes([0xCB, 8 * row + column])) for column, other in enumerate(REGISTERS))


ENCODINGS: Mapping[str, bytes] = dict(_encodings())


def _template(text: str) -> tuple[bytes, str, str]:
    """Return the code of an instruction, and the kind and the text of the operand that follows it, if there is one."""
    if text in ENCODINGS:
        return ENCODINGS[text], "", ""
    name, _, rest = text.partition(" ")
    operands = rest.split(",")
    for index, operand in enumerate(operands):
        inner = re.fullmatch(r"(\(|sp\+|)(.*?)(\)|)", operand)
        assert inner is not None
        for kind in OPERAND_BYTES:
            tried = [*operands[:index], f"{inner[1]}{kind}{inner[3]}", *operands[index + 1 :]]
            code = ENCODINGS.get(f"{name} {','.join(tried)}")
            if code is not None:
                return code, kind, inner[2]
    raise ValueError("it is no instruction")


class Program:
    """The lines of a program, assembled in two passes."""

    def __init__(self, source: str) -> None:
        self.labels: dict[str, int] = {}
        self.rom = bytearray(ROM_BYTES)
        for final in (False, True):
            self._at = 0
            for number, line in enumerate(source.splitlines(), 1):
                text = " ".join(line.partition(";")[0].split())
                try:
                    self._assemble(re.sub(r"\s*,\s*", ",", text), final)
                except (ValueError, KeyError, IndexError) as error:
                    reason = f"{error.args[0]} is not defined" if isinstance(error, KeyError) else str(error)
                    raise BadSource(f"line {number}, {text!r}, cannot be assembled: {reason}") from None

    def _assemble(self, text: str, final: bool) -> None:
        name, _, rest = text.partition(" ")
        if text.endswith(":"):
            self.labels[text[:-1]] = self._at
        elif name == "org":
            self._at = self._value(rest, True)
        elif name == "ds":
            self._at += self._value(rest, True)
        elif name == "db":
            self._emit(bytes(self._value(part, final) & 0xFF for part in rest.split(",")))
        elif text:
            code, kind, operand = _template(text)
            value = self._value(operand, final) if kind else 0
            if kind == "e8" and name == "jr":
                value -= self._at + 2
                if final and not -128 <= value < 128:
                    raise ValueError("the jump is too far for jr; use jp")
            size = OPERAND_BYTES.get(kind, 0)
            self._emit(code + (value & (256**size - 1)).to_bytes(size, "little"))

    def _emit(self, data: bytes) -> None:
        if self._at + len(data) > ROM_BYTES:
            raise ValueError(f"it is beyond the {ROM_BYTES} bytes of the ROM")
        self.rom[self._at : self._at + len(data)] = data
        self._at += len(data)

    def _value(self, text: str, final: bool) -> int:
        """Return a sum of numbers and labels; in the first pass, labels that are not known yet are 0."""
        text = text.replace(" ", "")
        if text[0] in "<>":
            found = self._value(text[1:], final)
            return found >> 8 & 0xFF if text[0] == ">" else found & 0xFF
        return sum(
            (-1 if sign == "-" else 1) * self._term(term, final) for sign, term in re.findall(r"([+-]?)([^+-]+)", text)
        )

    def _term(self, text: str, final: bool) -> int:
        bases = {"$": 16, "%": 2}
        if text[0] in bases:
            return int(text[1:], bases[text[0]])
        if text.isdigit():
            return int(text)
        return self.labels[text] if final else self.labels.get(text, 0)


def cartridge_bytes(source: str, title: str) -> bytes:
    """Return the file of a cartridge of 32 KiB: the program, and a header with its title and checksums.

    The header has no picture, because no emulator of ours looks for it.

    Raises:
        BadSource: A line cannot be assembled.
    """
    rom = Program(source).rom
    rom[0x134:0x143] = title.encode("ascii")[:15].ljust(15, b"\0")
    rom[0x14D] = -sum(rom[0x134:0x14D]) - 25 & 0xFF
    rom[0x14E:0x150] = b"\0\0"
    rom[0x14E:0x150] = (sum(rom) & 0xFFFF).to_bytes(2, "big")
    return bytes(rom)
