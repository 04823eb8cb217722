"""Asks the terminal what pictures it can show, and finds its answers among what the user types.

Terminals answer in order, and all of them answer the last question, so it is known when no more answers will come.
Nothing waits for them: the app begins with half blocks, and shows pictures from when the answers are known.

Terminal.app prints what follows `ESC _` and `ESC P`. So the question about kitty's protocol goes only to terminals that
have told their version, which it does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from .kitty import passed_through, removed

Mode: TypeAlias = Literal["kitty", "sixel", "off"]

QUESTIONS = b"\x1b[>0q\x1b[16t\x1b[14t\x1b[c"
"""Its version; the sizes in pixels of a cell and of the window; its attributes."""
REGISTERS = b"\x1b[?1;1;0S"
"""The number of colors of sixels."""
QUERY = 31
"""The id of the picture that the question about kitty's protocol names."""
KITTY = b"\x1b_Ga=T,U=1,i=%d,t=d,f=24,s=1,v=1,c=1,r=1;AAAA\x1b\\" % QUERY + removed(QUERY)
"""Shows a pixel by placeholders, of which there are none, and removes it. Warp knows the protocol and refuses these."""
STATUS = b"\x1b[5n"
"""A question that all terminals answer; the answer shows that everything before it has arrived."""
LONGEST = 4096
"""Bytes after which something that began like an answer is none."""
SIXEL = 4
DEFAULT_CELL = 10, 20
"""Width and height of a cell in pixels where the terminal does not say; that of the VT340, on which sixels depend."""

ANSWER = re.compile(
    rb"\x1b_G(?P<kitty>[^\x1b]{0,1024})\x1b\\"
    rb"|\x1bP>\|(?P<version>[^\x1b]{0,256})\x1b\\"
    rb"|\x1b\[6;(?P<cell>\d{1,5};\d{1,5})t"
    rb"|\x1b\[4;(?P<window>\d{1,5};\d{1,5})t"
    rb"|\x1b\[\?1;(?P<registers>\d{1,2}(?:;\d{1,9}){0,2})S"
    rb"|\x1b\[\?(?P<attributes>[\d;]{1,64})c"
    rb"|\x1b\[(?P<status>[03])n"
)
BEGUN = re.compile(
    rb"\x1b(?:_(?:G[^\x1b]*\x1b?)?|P(?:>(?:\|[^\x1b]*\x1b?)?)?|\[(?:\?[\d;]*|[46](?:;[\d;]*)?|[03])?)?\Z"
)
"""The beginning of an answer at the end of what was read."""


@dataclass(frozen=True)
class Abilities:
    """What the terminal has answered.

    Attributes:
        cell: Width and height of a cell in pixels, once known.
        window: Width and height of the window in pixels, once known.
        registers: Colors of a picture in sixels.
        status: Whether it answers `STATUS`, so that it can be found out when what was written has arrived.
    """

    version: str = ""
    cell: tuple[int, int] = (0, 0)
    window: tuple[int, int] = (0, 0)
    registers: int = 256
    kitty: bool = False
    sixel: bool = False
    status: bool = False

    @property
    def tmux(self) -> bool:
        """Whether the terminal is tmux, which passes pictures on in a wrapping."""
        return self.version.startswith("tmux")

    @property
    def mode(self) -> Mode:
        """How it shows pictures best.

        Terminals with both protocols know no placeholders, and those without sixels do.
        """
        if self.sixel:
            return "sixel"
        return "kitty" if self.kitty else "off"

    def cell_in(self, columns: int, lines: int) -> tuple[int, int]:
        """Return the size of a cell, in a window of so many columns and lines."""
        if all(self.cell):
            return self.cell
        wide, high = self.window[0] // max(1, columns), self.window[1] // max(1, lines)
        return (wide, high) if wide and high else DEFAULT_CELL


class Answers:
    """Takes what was read from the terminal; keeps its answers, and passes on what the user has typed.

    An answer may come in pieces, late, or never.

    Args:
        write: Writes further questions.
        changed: Called when the terminal's abilities are known, and when they change later.
        arrived: Called when everything that was written before a `STATUS` has arrived.
    """

    def __init__(
        self, write: Callable[[bytes], None], changed: Callable[[Abilities], None], arrived: Callable[[], None]
    ) -> None:
        self._write, self._changed, self._arrived = write, changed, arrived
        self._held = b""
        self._asked = 0  # statuses that tell that kitty's answer will not come any more
        self._waiting = 0  # answers that are due
        self._told: Abilities | None = None
        self.abilities = Abilities()

    def ask(self) -> None:
        """Ask the terminal everything."""
        self._waiting += 1
        self._write(QUESTIONS)

    def expect_status(self) -> None:
        """Expect the answer to a `STATUS`."""
        self._waiting += 1

    @property
    def due(self) -> bool:
        """Whether an answer is due that will come."""
        return self.abilities.status and self._waiting > 0

    @property
    def holding(self) -> bool:
        """Whether the beginning of an answer is held back."""
        return bool(self._held)

    def passed(self, data: bytes) -> bytes:
        """Return what of this the user has typed."""
        data, self._held = self._held + data, b""
        typed, at = b"", 0
        for found in ANSWER.finditer(data):
            kind = found.lastgroup
            assert kind is not None
            if kind == "status" and not self._waiting:
                continue
            typed, at = typed + data[at : found.start()], found.end()
            self._take(kind, found[kind].decode("ascii", "replace"))
        rest = data[at:]
        begun = BEGUN.search(rest)
        # Escape alone is a key, for which nobody should wait; unless an answer is due, or comes from behind tmux.
        due = self._waiting or self.abilities.tmux
        if begun is not None and len(begun[0]) < LONGEST and (len(begun[0]) > 2 or due):
            rest, self._held = rest[: begun.start()], begun[0]
        return typed + rest

    def released(self) -> bytes:
        """Return what was held back, as no more has come: unless it can only be an answer."""
        if self._held[:3] in {b"\x1b_G", b"\x1bP>"}:
            return b""
        held, self._held = self._held, b""
        return held

    def _take(self, kind: str, text: str) -> None:
        known = self.abilities
        if kind == "version":
            self.abilities = replace(known, version=text)
        elif kind in {"cell", "window"}:
            high, wide = map(int, text.split(";"))
            size = wide, high
            self.abilities = replace(known, cell=size) if kind == "cell" else replace(known, window=size)
            self._tell()
        elif kind == "registers":
            status, _, count = text.partition(";")
            if status == "0" and int(count.partition(";")[0] or 0) > 1:
                self.abilities = replace(known, registers=int(count.partition(";")[0]))
        elif kind == "attributes":
            self._take_attributes(text)
        elif kind == "kitty" and text.startswith(f"i={QUERY};"):
            self.abilities = replace(known, kitty=text.endswith(";OK"))
            self._tell()
        elif kind == "status":
            self._waiting -= 1
            if self._asked:
                self._asked -= 1
                self.abilities = replace(self.abilities, status=True)
                self._told = self._told or Abilities()
                self._tell()
            else:
                self._arrived()

    def _take_attributes(self, text: str) -> None:
        """Take the answer to the last question; ask about kitty's protocol, which tmux would take for a title."""
        self._waiting -= self._waiting > 0
        sixel = str(SIXEL) in text.split(";")[1:]
        self.abilities = replace(self.abilities, sixel=sixel)
        self._asked += 1
        self._waiting += 1
        question = b""
        if sixel:
            question = REGISTERS
        elif self.abilities.version:
            question = passed_through(KITTY) if self.abilities.tmux else KITTY
        self._write(question + STATUS)

    def _tell(self) -> None:
        """Report the abilities, once all of them are known."""
        if (self._told is not None or self.abilities.kitty) and self._told != self.abilities:
            self._told = self.abilities
            self._changed(self.abilities)
