"""A terminal that decodes pictures: kitty's by its placeholders, and sixels; and answers what programs ask."""

from __future__ import annotations

import re
import unicodedata
import zlib
from base64 import standard_b64decode
from typing import Any

import numpy as np
import pyte

PICTURE = re.compile(
    rb"\x1b_G([^;\x1b]*);?([^\x1b]*)\x1b\\|\x1bP(?:0;1;0)?q([^\x1b]*)\x1b\\|\x1bPtmux;((?:\x1b\x1b|[^\x1b])*)\x1b\\"
)
UNFINISHED = re.compile(rb"\x1b(?:[_P](?:\x1b\x1b|[^\x1b]|\x1b(?!\\))*|\[[\d;?>$]*)?\Z")
QUESTION = re.compile(rb"\x1b\[(>0q|16t|14t|\?1;1;0S|c|5n)")
KINDS = {b">0q": "version", b"16t": "cell", b"14t": "window", b"?1;1;0S": "registers", b"c": "attributes"}
PLACE = "\U0010eeee"
FUSED = {*range(0x300, 0x305), *range(0x306, 0x30D), 0x30F, 0x311, 0x313, 0x314, 0x342, 0x653, 0x654}
NEWER = {*range(0x890, 0x900), 0x9FE, *range(0x1AB0, 0x1AD0), 0x1CF4, 0x1CF8, 0x1CF9, *range(0x1DE7, 0x1DFC)}
NEWER |= {*range(0xA670, 0xA67C), 0xA69E, 0xA69F, *range(0xFE27, 0xFE30)}
"""Marks that normalization fuses with letters, and those that Unicode 6.0 did not have."""
MARKS = [
    code
    for code in range(0xFE30)
    if unicodedata.combining(chr(code)) == 230
    and not unicodedata.decomposition(chr(code))
    and code not in FUSED | NEWER
]


WHOLE = 2


class Cells(pyte.Screen):
    """The text; it removes sixels where it is written."""

    written: Any = None
    erased: Any = None

    def draw(self, data: str) -> None:
        """Write letters, which are of one column each."""
        for letter in data:
            if self.written is not None and not unicodedata.combining(letter):
                self.written(min(self.cursor.x, self.columns - 1), self.cursor.y)
            super().draw(letter)

    def erase_in_display(self, how: int = 0, *arguments: object, **keys: object) -> None:
        """Erase the text and the sixels."""
        super().erase_in_display(how, *arguments, **keys)
        if how == WHOLE and self.erased is not None:
            self.erased()

    def report_device_attributes(self, *_: object, **__: object) -> None:
        """Leave the answers to the emulator."""

    def report_device_status(self, *_: object, **__: object) -> None:
        """Leave the answers to the emulator."""


class Emulator:
    """A terminal of some columns and lines.

    Args:
        answers: What it answers to each question; it does not answer others.
    """

    def __init__(self, columns: int, lines: int, answers: dict[str, bytes], *, kitty: bool = False) -> None:
        self.cells = Cells(columns, lines)
        self.cells.written, self.cells.erased = self._erase, self._erase_all
        self._stream = pyte.ByteStream(self.cells)
        self._answers, self._kitty = answers, kitty
        self._kept, self._parts = b"", b""
        self._head: dict[str, str] = {}
        self.images: dict[int, tuple[np.ndarray, int, int]] = {}
        self.cell = wide, high = 5, 10
        self.pixels = np.full((lines * high, columns * wide, 3), -1, np.int16)
        self.pictures = 0
        self.stray = b""

    def resize(self, columns: int, lines: int) -> None:
        """Have another size. Pictures stay where they were, as in terminals that do not wrap lines anew."""
        wide, high = self.cell
        pixels = np.full((lines * high, columns * wide, 3), -1, np.int16)
        rows, wides = (min(sizes) for sizes in zip(pixels.shape[:2], self.pixels.shape[:2], strict=True))
        pixels[:rows, :wides] = self.pixels[:rows, :wides]
        self.pixels = pixels
        self.cells.resize(lines, columns)

    def feed(self, data: bytes) -> bytes:
        """Show what a program writes; return what the terminal answers."""
        data, self._kept = self._kept + data, b""
        if (unfinished := UNFINISHED.search(data)) is not None:
            data, self._kept = data[: unfinished.start()], data[unfinished.start() :]
        said, at = b"", 0
        for found in PICTURE.finditer(data):
            said += self._write(data[at : found.start()])
            at = found.end()
            said += self._take(found)
        return said + self._write(data[at:])

    def _write(self, text: bytes) -> bytes:
        # pyte does not know these, and would print their ends.
        self._stream.feed(re.sub(rb"\x1b\[[>=<][\d;]*[a-zA-Z]|\x1b\[[\d;?]*\$p|\x1b\[\?1;1;0S", b"", text))
        said = b""
        for found in QUESTION.finditer(text):
            said += b"\x1b[0n" if found[1] == b"5n" else self._answers.get(KINDS[found[1]], b"")
        return said

    def _take(self, found: re.Match[bytes]) -> bytes:
        if found[4] is not None:
            inner = found[4].replace(b"\x1b\x1b", b"\x1b")
            kept, self._kept = self._kept, b""  # begins what follows
            said = self.feed(inner) if self._answers.get("passes") else b""
            self._kept = kept
            return said
        if found[3] is not None:
            self._draw(found[3].decode())
            return b""
        return self._command(dict(pair.split("=") for pair in found[1].decode().split(",")), found[2])

    def _command(self, keys: dict[str, str], data: bytes) -> bytes:
        if not self._kitty:
            return self._answers.get("refusal", b"")
        if keys.get("a") == "d":
            self.images.pop(int(keys["i"]), None)
            return b""
        if "a" in keys:
            self._head, self._parts = keys, b""
        self._parts += data
        if keys.get("m") != "1":
            head = self._head
            shape = int(head["v"]), int(head["s"]), 3
            sent = standard_b64decode(self._parts)
            pixels = np.frombuffer(zlib.decompress(sent) if head.get("o") == "z" else sent, np.uint8).reshape(shape)
            self.images[int(head["i"])] = pixels, int(head["c"]), int(head["r"])
            if head.get("q") != "2":
                return b"\x1b_Gi=%s;OK\x1b\\" % head["i"].encode()
            self.pictures += 1
        return b""

    def placeholder(self, x: int, y: int) -> tuple[int, int, int] | None:
        """Return picture, line and column that a cell shows by a placeholder."""
        char = self.cells.buffer[y][x]
        if not char.data.startswith(PLACE) or len(char.data) < 3:
            return None
        line, column, high = (*(MARKS.index(ord(mark)) for mark in char.data[1:]), 0)[:3]
        number = pyte.graphics.FG_BG_256.index(char.fg, 16) if char.fg in pyte.graphics.FG_BG_256[16:] else -1
        return high << 24 | number, line, column

    def _erase(self, x: int, y: int) -> None:
        wide, high = self.cell
        self.pixels[y * high : (y + 1) * high, x * wide : (x + 1) * wide] = -1

    def _erase_all(self) -> None:
        self.pixels[:] = -1

    def _draw(self, text: str) -> None:
        self.pictures += 1
        wide, high = self.cell
        left, top = self.cells.cursor.x * wide, self.cells.cursor.y * high
        for y, x, color in sixels(text):
            self.pixels[top + y, left + x] = color


def sixels(text: str) -> Any:
    """Yield line, column and color of each pixel of sixels."""
    colors: dict[int, tuple[int, int, int]] = {}
    x = y = color = 0
    for part in re.finditer(r'"([\d;]+)|#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)([?-~])|([?-~])|(\$)|(-)', text):
        _, index, red, green, blue, chosen, count, repeated, single, back, down = part.groups()
        if index:
            colors[int(index)] = (int(red), int(green), int(blue))
        elif chosen:
            color = int(chosen)
        elif back:
            x = 0
        elif down:
            x, y = 0, y + 6
        elif repeated or single:
            bits = ord(repeated or single) - 63
            for at in range(x, x + int(count or 1)):
                for bit in range(6):
                    if bits >> bit & 1:
                        yield y + bit, at, colors[color]
            x += int(count or 1)
