"""The pictures on the screen: which have changed, and which of them are sent now."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import kitty
from .answers import STATUS, Abilities, Mode
from .pacing import Pacing
from .sixel import Colors, Encoder

COARSEST = 8
"""A picture is reduced to at most one of so many pixels in both directions if the connection is slow."""
SHARE = 0.15
"""Of a core, at most, for encoding pictures."""
LONGEST, SPARE = 0.25, 4
"""Seconds that one picture may take, or it is sent in fewer pixels; how much less it must take for finer ones."""
STILL = 0.5
"""Seconds after which a picture that was sent in fewer pixels is sent in all of them, if it has not changed."""
PART_LINES = 6
"""Lines of text that a piece of a picture in sixels is high."""
TMUX_RATE = 256 * 1024
"""Bytes per second through tmux: it answers itself, so nothing is known of the connection behind it."""


class Rect(NamedTuple):
    """Cells of the screen."""

    x: int
    y: int
    width: int
    height: int

    def within(self, other: Rect) -> Rect:
        """Return what is in both."""
        left, top = max(self.x, other.x), max(self.y, other.y)
        right, bottom = (
            min(self.x + self.width, other.x + other.width),
            min(self.y + self.height, other.y + other.height),
        )
        return Rect(left, top, max(0, right - left), max(0, bottom - top))

    def without(self, cover: Rect) -> list[Rect]:
        """Return what is left of it beside another one: above, below, left and right of that."""
        cut = self.within(cover)
        if not (cut.width and cut.height):
            return [self]
        parts = (
            Rect(self.x, self.y, self.width, cut.y - self.y),
            Rect(self.x, cut.y + cut.height, self.width, self.y + self.height - cut.y - cut.height),
            Rect(self.x, cut.y, cut.x - self.x, cut.height),
            Rect(cut.x + cut.width, cut.y, self.x + self.width - cut.x - cut.width, cut.height),
        )
        return [part for part in parts if part.width > 0 and part.height > 0]


def uncovered(place: Rect, clip: Rect, covers: Iterable[Rect]) -> list[Rect]:
    """Return the parts of a place that are within `clip` and under none of `covers`."""
    found = place.within(clip)
    parts = [found] if found.width and found.height else []
    for cover in covers:
        parts = [part for whole in parts for part in whole.without(cover)]
    return parts


FAST = 4e6
"""Bytes per second from which on a connection is fast enough for all text."""


class PlacedPicture(NamedTuple):
    """Pixels `(H, W, 3)` in cells of the screen."""

    pixels: NDArray[np.uint8]
    place: Rect


class Visible(NamedTuple):
    """A picture and the parts of its place that nothing covers."""

    picture: PlacedPicture
    parts: Sequence[Rect]


@dataclass
class Drawn:
    """What the terminal shows of a picture: one of `coarse` pixels in both directions, since `at`."""

    pixels: NDArray[np.uint8] | None = None
    place: Rect | None = None
    indices: NDArray[np.uint8] | None = None
    colors: Colors = field(default_factory=Colors)
    encoder: Encoder = field(default_factory=Encoder)
    version: int = 0
    coarse: int = 1
    at: float = 0.0


class Canvas:
    """Shows pictures in the terminal, as many as the connection carries. Newer ones replace those that wait.

    Args:
        write: Writes to the terminal.
        asked: Called when a question was written whose answer calls `arrived`.
        visible: Returns which parts of a place of an owner are visible.

    Attributes:
        mode: How pictures are shown.
        cell: Width and height of a cell in pixels.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        asked: Callable[[], None],
        visible: Callable[[Hashable, Rect], Sequence[Rect]],
    ) -> None:
        self._write, self._asked, self._visible = write, asked, visible
        self._process = os.getpid() % 255 + 1
        self._numbers: dict[tuple[Hashable, int], int] = {}
        self._owner: Hashable = None
        self._wanted: dict[int, PlacedPicture] = {}
        self._drawn: dict[int, Drawn] = {}
        self._pacing = Pacing()
        self._pieces: deque[bytes] = deque()
        self._open = False
        self._coarse = 1
        self._turns: dict[int, int] = {}
        self._turn = 0
        self._registers, self._tmux = 256, False
        self._clock, self._rested = time.monotonic, 0.0
        self.mode: Mode = "off"
        self._paces = False  # also text, where the terminal tells what has arrived
        self.cell = 10, 20
        self.sent = 0
        """Pictures that were sent."""

    @property
    def showing(self) -> bool:
        """Whether there are pictures on the screen."""
        return self.mode != "off" and bool(self._wanted)

    @property
    def spares(self) -> bool:
        """Whether of text only what differs should be written: to a near terminal, writing all takes less time."""
        return self.mode != "off" or (self._paces and 0 < self._pacing.rate < FAST)

    @property
    def busy(self) -> bool:
        """Whether so much is on its way to the terminal that text which no key has asked for should wait."""
        return self._paces and self._pacing.busy

    def wrote(self, count: int) -> None:
        """Count bytes of text on their way to the terminal."""
        if self._paces and self._pacing.wrote(count):
            self._ask()

    def _ask(self) -> None:
        self._write(STATUS)
        self._pacing.asked()
        self._asked()

    @property
    def process(self) -> int:
        """The highest byte of the ids of pictures."""
        return self._process if self._tmux else 0

    def use(self, mode: Mode, abilities: Abilities, cell: tuple[int, int]) -> bool:
        """Show pictures in another way from now on; return whether that changes how boards are drawn."""
        changed = (mode, cell) != (self.mode, self.cell)
        self.mode, self.cell, self._paces = mode, cell, mode != "off" or abilities.status
        self._registers, self._tmux = abilities.registers, abilities.tmux and mode == "kitty"
        if changed:
            self._pacing = Pacing(most=TMUX_RATE if self._tmux else None)
            self.forget()
        return changed

    def number(self, owner: Hashable, index: int) -> int:
        """Return the number of a picture of an owner, which is its color for the terminal."""
        if (owner, index) not in self._numbers and len(self._numbers) > kitty.LAST - kitty.FIRST:
            self._numbers.clear()
            self.forget()
        return self._numbers.setdefault((owner, index), kitty.FIRST + len(self._numbers))

    def show(self, owner: Hashable, pictures: dict[int, PlacedPicture]) -> None:
        """Show these pictures by their numbers, and none of other owners."""
        if owner != self._owner:
            self._owner = owner
            self.forget()
        self._wanted = pictures
        self.pump()

    @property
    def visible(self) -> list[Visible]:
        """The pictures on the screen."""
        wanted = self._wanted.values() if self.mode != "off" else ()
        return [Visible(picture, self._visible(self._owner, picture.place)) for picture in wanted]

    def arrived(self) -> None:
        """Send more, as the terminal has drawn what was sent."""
        self._pacing.answered()
        self.pump()

    def forget(self) -> None:
        """Draw everything again when it is shown next: the terminal shows none of it any more."""
        self._wanted = {}
        self._draw_again(self._drawn)

    def _draw_again(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._drawn[number].pixels = self._drawn[number].indices = None
        if self.mode == "sixel":
            self._pieces.clear()  # their places may show something else; a picture of kitty has no place

    def overwritten(self, places: Sequence[Rect]) -> None:
        """Note that text was drawn over these places; that removes sixels."""
        if self.mode != "sixel":
            return
        lost = [
            number
            for number, picture in self._wanted.items()
            if number in self._drawn and any(all(picture.place.within(place)[2:]) for place in places)
        ]
        if lost:
            self._draw_again(self._wanted if self._pieces else lost)
            self.pump()

    @property
    def removing(self) -> bytes:
        """The commands that remove all pictures from the terminal's memory."""
        if self.mode != "kitty":
            return b""
        ids = (kitty.picture_id(number, self.process) for number in self._drawn)
        return self._wrapped((kitty.BROKEN_OFF if self._open else b"") + b"".join(map(kitty.removed, ids)))

    def removal(self) -> bytes:
        """Return these commands, and forget the pictures."""
        commands = self.removing
        self.forget()
        self._pacing = Pacing(most=TMUX_RATE if self._tmux else None)  # answers may be lost meanwhile
        self._drawn, self._open = {}, False
        self._pieces.clear()
        return commands

    def pump(self) -> None:
        """Send as many changed pictures as there is room for, those first that have waited longest."""
        if self.mode == "off":
            return
        if self._clock() < self._rested:
            return
        begun = time.thread_time()
        self._send()
        self._rested = self._clock() + (time.thread_time() - begun) / SHARE

    def _send(self) -> None:
        """Send pieces of pictures. A changed picture is encoded only when there is room for it now."""
        room, written = self._pacing.room, b""
        while len(written) < room:
            if not self._pieces:
                number, coarse = self._next()
                if number is None:
                    break
                self._turns[number] = self._turn = self._turn + 1
                self._pieces.extend(self._encoded(number, self._wanted[number], coarse))
                if coarse == self._coarse:
                    self._choose_pixels(sum(map(len, self._pieces)))
                self.sent += bool(self._pieces)
                continue
            written += self._pieces.popleft()
            self._open = self.mode == "kitty" and bool(self._pieces)
        if written:
            self._write(written)
            self._pacing.wrote(len(written))
            self._ask()

    def _next(self) -> tuple[int | None, int]:
        """Return which picture to send, and by how much reduced: a changed one, else one that is not shown whole."""
        for number in sorted(self._wanted, key=lambda number: self._turns.get(number, 0)):
            if self._changed(number, self._wanted[number]):
                return number, self._coarse
        for number in self._wanted:
            if self._drawn[number].coarse > 1 and self._clock() - self._drawn[number].at > STILL:
                return number, 1
        return None, 1

    def _changed(self, number: int, picture: PlacedPicture) -> bool:
        drawn = self._drawn.setdefault(number, Drawn())
        if drawn.pixels is None or drawn.place is None:
            return True
        moved = drawn.place[2:] != picture.place[2:] if self.mode == "kitty" else drawn.place != picture.place
        return moved or not np.array_equal(drawn.pixels, picture.pixels)

    def _choose_pixels(self, count: int) -> None:
        """Send fewer pixels if a picture of so many bytes is too large for the connection; more if it is small."""
        most = self._pacing.rate * LONGEST
        if not most:
            return
        if count > most and self._coarse < COARSEST:
            self._coarse *= 2
        elif count * SPARE * SPARE < most and self._coarse > 1:
            self._coarse //= 2

    def _encoded(self, number: int, picture: PlacedPicture, coarse: int) -> list[bytes]:
        """Return the commands that show a picture, in pieces, and note that the terminal shows it."""
        drawn = self._drawn[number]
        drawn.coarse, drawn.at = coarse, self._clock()
        pixels = picture.pixels[::coarse, ::coarse]
        if self.mode == "kitty":
            drawn.pixels, drawn.place = picture.pixels, picture.place
            _, _, columns, lines = picture.place
            pieces = kitty.shown(pixels, kitty.picture_id(number, self.process), columns, lines)
            return list(map(self._wrapped, pieces))
        return self._sixels(drawn, picture, pixels)

    def _wrapped(self, commands: bytes) -> bytes:
        return kitty.passed_through(commands) if self._tmux else commands

    def _sixels(self, drawn: Drawn, picture: PlacedPicture, pixels: NDArray[np.uint8]) -> list[bytes]:
        """Return those visible parts of a picture that have changed, as sixels at their places."""
        if drawn.colors.most != self._registers:
            drawn.colors = Colors(self._registers)
        place, colors = picture.place, drawn.colors
        indices = colors.indices(pixels)
        changed, before = place, drawn.indices
        if before is not None and before.shape == indices.shape and drawn.version == colors.version:
            changed = _changed_cells(before != indices, place) if drawn.place == place else place
        drawn.pixels, drawn.place, drawn.indices, drawn.version = picture.pixels, place, indices, colors.version
        wide, high = self.cell
        size = place.height * high, place.width * wide
        pieces = []
        for visible in self._visible(self._owner, place):
            whole = visible.within(changed)
            for y in range(whole.y, whole.y + whole.height if whole.width else whole.y, PART_LINES):
                part = whole.within(Rect(whole.x, y, whole.width, PART_LINES))
                area = (part.y - place.y) * high, (part.x - place.x) * wide, part.height * high, part.width * wide
                at = b"\x1b7\x1b[%d;%dH" % (part.y + 1, part.x + 1)
                pieces.append(at + drawn.encoder.encode(indices, colors, size, area) + b"\x1b8")
        return pieces


def _changed_cells(differs: NDArray[np.bool_], place: Rect) -> Rect:
    """Return the cells of a place around the pixels that differ."""
    rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
    if not len(rows):
        return Rect(place.x, place.y, 0, 0)
    height, width = differs.shape
    top, left = int(rows[0]) * place.height // height, int(columns[0]) * place.width // width
    bottom, right = -(-(int(rows[-1]) + 1) * place.height // height), -(-(int(columns[-1]) + 1) * place.width // width)
    return Rect(place.x + left, place.y + top, right - left, bottom - top)
