"""Pictures in kitty's graphics protocol, shown by its Unicode placeholders.

A placeholder is a character whose combining marks say which row and column of a picture the cell shows, and whose color
says which picture. So the terminal cuts and moves pictures with the text, and dialogs cover them; tmux moves them, too.
"""

from __future__ import annotations

import re
import zlib
from base64 import standard_b64encode
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

PLACEHOLDER = "\U0010eeee"
RANGES = (
    "305 30D-30E 310 312 33D-33F 346 34A-34C 350-352 357 35B 363-36F 483-487 592-595 597-599 59C-5A1 5A8-5A9 5AB-5AC "
    "5AF 5C4 610-617 657-65B 65D-65E 6D6-6DC 6DF-6E2 6E4 6E7-6E8 6EB-6EC 730 732-733 735-736 73A 73D 73F-741 743 745 "
    "747 749-74A 7EB-7F1 7F3 816-819 81B-823 825-827 829-82D 951 953-954 F82-F83 F86-F87 135D-135F 17DD 193A 1A17 "
    "1A75-1A7C 1B6B 1B6D-1B73 1CD0-1CD2 1CDA-1CDB 1CE0 1DC0-1DC1 1DC3-1DC9 1DCB-1DCC 1DD1-1DE6 1DFE 20D0-20D1 "
    "20D4-20D7 20DB-20DC 20E1 20E7 20E9 20F0 2CEF-2CF1 2DE0-2DFF A66F A67C-A67D A6F0-A6F1 A8E0-A8F1 AAB0 "
    "AAB2-AAB3 AAB7-AAB8 AABE-AABF AAC1 FE20-FE26 10A0F 10A38 1D185-1D189 1D1AA-1D1AD 1D242-1D244"
)
"""The combining marks that stand for the numbers from 0, as the protocol lists them."""
CHUNK = 4096
"""Most bytes of data in one command."""
FIRST, LAST = 16, 255
"""The numbers of pictures: colors of the palette of 256 that all terminals keep as they are."""
LEVEL = 1
"""Of zlib: the fastest, since games compress well in any case."""


@cache
def marks() -> str:
    """Return the combining marks for the numbers from 0 to 296."""
    ends = [[int(end, 16) for end in span.split("-")] for span in RANGES.split()]
    return "".join(chr(code) for end in ends for code in range(end[0], end[-1] + 1))


@cache
def _cells() -> re.Pattern[str]:
    return re.compile(f"(?:{PLACEHOLDER}[{marks()}]{{2,3}})+")


def is_placeholder(text: str) -> bool:
    """Return whether a text has only placeholders as this module makes them."""
    return text.startswith(PLACEHOLDER) and _cells().fullmatch(text) is not None


@lru_cache(maxsize=4096)
def placeholders(line: int, columns: int, process: int) -> str:
    """Return one line of a picture: a placeholder for each column.

    Args:
        line: The line of the picture, from 0.
        columns: Columns of the picture.
        process: The highest byte of the picture's id. See `picture_id`.
    """
    known = marks()
    end = known[process] if process else ""
    return "".join(f"{PLACEHOLDER}{known[line]}{known[column]}{end}" for column in range(columns))


def picture_id(number: int, process: int) -> int:
    """Return the id of a picture: its number is its color, and its highest byte tells apps in the same tmux apart.

    A terminal itself tells its windows apart. Without the byte, a placeholder has one mark less.
    """
    return process << 24 | number


BROKEN_OFF = b"\x1b_Gq=2,m=0;\x1b\\"
"""Ends a picture of which not all pieces were sent; the terminal cannot decode it, and shows none."""


def shown(pixels: NDArray[np.uint8], ident: int, columns: int, lines: int) -> list[bytes]:
    """Return the commands that show pixels `(H, W, 3)` in the cells with the placeholders of a picture: one per piece.

    The terminal enlarges the picture to these cells, and answers nothing.
    """
    height, width, _ = pixels.shape
    data = standard_b64encode(zlib.compress(pixels.tobytes(), LEVEL))
    head = b"a=T,U=1,q=2,f=24,o=z,i=%d,s=%d,v=%d,c=%d,r=%d," % (ident, width, height, columns, lines)
    parts = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    return [
        b"\x1b_G%sm=%d;%s\x1b\\" % (b"q=2," if at else head, at < len(parts) - 1, part) for at, part in enumerate(parts)
    ]


def removed(ident: int) -> bytes:
    """Return the command that removes a picture and frees its memory."""
    return b"\x1b_Ga=d,d=I,q=2,i=%d\x1b\\" % ident


def passed_through(commands: bytes) -> bytes:
    """Return commands so that tmux passes each on to its terminal, if it is allowed to."""
    parts = commands.split(b"\x1b\\")[:-1]
    return b"".join(b"\x1bPtmux;%s\x1b\\" % (part + b"\x1b\\").replace(b"\x1b", b"\x1b\x1b") for part in parts)
