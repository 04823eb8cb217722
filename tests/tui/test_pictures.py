"""Real pictures: which terminals get which, that they are what the board is, and that nothing of them is left."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
import zlib
from base64 import standard_b64decode
from contextlib import contextmanager
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from pac.tui.pictures.answers import KITTY, QUESTIONS, STATUS, Abilities, Answers
from pac.tui.pictures.canvas import Canvas, PlacedPicture, Rect, Visible, uncovered
from pac.tui.pictures.kitty import BROKEN_OFF, CHUNK, PLACEHOLDER, passed_through, placeholders
from pac.tui.pictures.pacing import FIRST, LEAST, Pacing
from pac.tui.pictures.sixel import Colors, Encoder
from pac.tui.terminal.svg import svg_of
from pac.tui.terminal.written import Written

from .emulator import Emulator, sixels
from .picture_app import board

OK = b"\x1b_Gi=31;OK\x1b\\"
REFUSED = b"\x1b_Gi=31;InvalidKittyAction(InvalidControlData(UnicodePlaceholderUnsupported))\x1b\\"
SIZES = b"\x1b[6;20;10t\x1b[4;1000;1600t"


def version(name: bytes) -> bytes:
    return b"\x1bP>|" + name + b"\x1b\\"


TERMINALS = {
    # What it answers to the first questions; to the second; the mode. (d): DA1 is in rasterm's table of terminals;
    # (m): measured by others on the version named. The rest follows from the terminals' manuals.
    "kitty": (version(b"kitty(0.35.2)") + SIZES + b"\x1b[?62;c", OK, "kitty"),  # (d)
    "kitty 0.45": (b"\x1b[6;20;10t" + version(b"kitty(0.45.0)") + b"\x1b[?62;52;c", OK, "kitty"),  # (m)
    "Ghostty": (version(b"ghostty 1.3.1") + SIZES + b"\x1b[?62;22;52c", OK, "kitty"),  # (m), also with placeholders
    "WezTerm": (version(b"WezTerm 20240203") + SIZES + b"\x1b[?65;4;6;18;22c", b"\x1b[?1;0;65536S", "sixel"),  # (d)
    "iTerm2": (version(b"iTerm2 3.6.9") + SIZES + b"\x1b[?64;1;2;4;6;17;18;21;22;52c", b"", "sixel"),  # (m)
    "foot": (version(b"foot(1.25.0)") + SIZES + b"\x1b[?62;4;22;28;52c", b"\x1b[?1;0;1024S", "sixel"),  # (m)
    "Konsole": (version(b"Konsole 25.12.3") + SIZES + b"\x1b[?62;1;4c", b"\x1b[?1;0;256S", "sixel"),  # (m)
    "Warp": (version(b"Warp(v0.2026.08)") + b"\x1b[?62c", REFUSED, "off"),  # (m)
    "Windows Terminal": (b"\x1b[6;20;10t\x1b[?61;4;6;7;14;21;22;23;24;28;32;42c", b"", "sixel"),  # (m), 1.22
    "Windows Terminal 1.21": (b"\x1b[?61;6;7;14;21;22;23;24;28;32;42c", b"", "off"),  # (m)
    "xterm -ti vt340": (version(b"XTerm(390)") + b"\x1b[?63;1;2;4;6;9;15;16;22;28c", b"\x1b[?1;0;16S", "sixel"),
    "xterm": (version(b"XTerm(407)") + b"\x1b[?64;1;2;6;9;15;17;18;21;22;28c", b"", "off"),  # (m)
    "a terminal that refuses to tell": (version(b"X(1)") + b"\x1b[?63;4c", b"\x1b[?1;3S", "sixel"),
    "tmux, passthrough on, in kitty": (version(b"tmux 3.4") + SIZES + b"\x1b[?1;2c", OK, "kitty"),
    "tmux, passthrough off": (version(b"tmux 3.4") + SIZES + b"\x1b[?1;2c", b"", "off"),
    "tmux with sixels": (version(b"tmux 3.6") + b"\x1b[6;20;10t\x1b[?1;2;4c", b"\x1b[?1;0;1024S", "sixel"),  # (m)
    "Alacritty": (b"\x1b[4;1000;1600t\x1b[?6c", b"", "off"),  # (m)
    "GNOME Terminal": (version(b"VTE(7600)") + SIZES + b"\x1b[?65;1;9c", b"", "off"),  # (d), its DA1
    "Linux console": (b"\x1b[?6c", b"", "off"),
    "Apple Terminal": (b"\x1b[?1;2c", b"", "off"),  # (d)
    "a terminal that answers nothing": (b"", b"", "off"),
}
KEYS = b"a\x1b[A\x1b[5~q\xc3\xa4\x1b"


class Told:
    """What `Answers` writes and reports."""

    def __init__(self) -> None:
        self.written, self.arrivals = b"", 0
        self.abilities: list[Abilities] = []
        self.answers = Answers(self.write, self.abilities.append, self.arrived)

    def write(self, data: bytes) -> None:
        self.written += data

    def arrived(self) -> None:
        self.arrivals += 1

    def taken(self) -> bytes:
        written, self.written = self.written, b""
        return written

    @property
    def mode(self) -> str:
        return self.abilities[-1].mode if self.abilities else "off"


@pytest.mark.parametrize("piece", [1, 3, 1000])
@pytest.mark.parametrize("name", TERMINALS)
def test_terminals_get_the_pictures_that_they_can_show(name, piece):
    """Whatever the terminal answers, in any pieces and with keys between, the mode is right and the keys arrive."""
    first, second, mode = TERMINALS[name]
    told = Told()
    told.answers.ask()
    assert told.taken() == QUESTIONS
    typed = pieces(told.answers, KEYS + first + KEYS, piece)
    if first:
        asked = told.taken()
        # What follows `ESC _` is printed by terminals that do not know it, such as Terminal.app.
        strange = b"\x1b_" in asked or b"\x1bP" in asked
        assert strange == (mode != "sixel" and b"\x1bP>|" in first)
        assert (passed_through(KITTY) in asked) == name.startswith("tmux, ")
        assert asked.endswith(STATUS)
        # tmux answers before its terminal does.
        later = b"\x1b[0n" + second if name.startswith("tmux, ") else second + b"\x1b[0n"
        typed += pieces(told.answers, later + KEYS, piece)
    typed += told.answers.released()
    assert typed == KEYS * (3 if first else 2)
    assert told.mode == mode
    if mode == "sixel":
        assert told.abilities[-1].registers == int(second.split(b";")[-1][:-1] if b"?1;0;" in second else 256)


def pieces(answers: Answers, data: bytes, size: int) -> bytes:
    return b"".join(answers.passed(data[at : at + size]) for at in range(0, len(data), size))


def test_a_late_answer_still_counts_and_an_escape_key_does_not_wait():
    """An answer after everything is shown as it can be; Escape is passed on at once when no answer is due."""
    told = Told()
    told.answers.ask()
    told.answers.passed(b"\x1b[?62;c\x1b[0n")
    assert told.mode == "off"
    assert told.answers.passed(b"\x1b") == b"\x1b"
    assert told.answers.passed(b"x\x1b_Gi=31;O") == b"x"
    assert told.answers.released() == b""
    assert told.answers.passed(b"K\x1b\\y") == b"y"
    assert told.mode == "kitty"


def decoded(data: bytes, size: tuple[int, int]) -> np.ndarray:
    picture = np.full((*size, 3), -1)
    for y, x, color in sixels(data[:-2].decode().partition("q")[2]):
        picture[y, x] = color
    return picture


def test_sixels_are_the_pixels():
    """Enlarged to the cells, every pixel has its color in percent; a part is what it is of the whole."""
    pixels, size = board(3), (180, 200)
    colors = Colors()
    indices, encoder = colors.indices(pixels), Encoder()
    rows, columns = np.arange(180) * 30 // 180, np.arange(200) * 40 // 200
    wanted = np.rint(pixels.astype(float) * 100 / 255)[rows][:, columns]
    assert np.array_equal(decoded(encoder.encode(indices, colors, size), size), wanted)
    part = encoder.encode(indices, colors, size, (40, 30, 60, 70))
    assert np.array_equal(decoded(part, (60, 70)), wanted[40:100, 30:100])


def test_many_colors_become_near_ones_in_a_palette_that_stays():
    """A photograph gets as many colors as the terminal has, each near; the same colors again get the same palette."""
    y, x = np.mgrid[:64, :64].astype(np.float64)
    pixels = np.stack([4 * y, 4 * x, 2 * (x + y)], axis=2).astype(np.uint8)
    for most, error in ((256, 12), (16, 45)):
        colors = Colors(most)
        found = colors.colors[colors.indices(pixels)] if len(colors.indices(pixels)) else pixels
        assert len(colors.colors) <= most
        assert np.abs(found.astype(int) - pixels).mean() < error
        version = colors.version
        colors.indices(pixels[::-1])
        assert colors.version == version


def test_the_saved_screen_has_its_pictures():
    """In an SVG, the visible parts of a picture are windows on a PNG of its pixels; no placeholder is left."""
    pixels = board(1)
    lines = [Strip([Segment("│"), Segment(placeholders(line, 4, 0)), Segment("│")]) for line in range(3)]
    place = Rect(1, 0, 4, 3)
    document = svg_of(lines, [Visible(PlacedPicture(pixels, place), uncovered(place, place, [Rect(3, 1, 2, 2)]))])
    assert PLACEHOLDER not in document
    root = ET.fromstring(document)
    name = "{http://www.w3.org/2000/svg}"
    windows = [window.get("viewBox") for window in root.iter(f"{name}svg")][1:]
    assert windows == ["0.00 0.00 40.00 10.00", "0.00 10.00 20.00 20.00"]
    for image in root.iter(f"{name}image"):
        data = standard_b64decode(image.get("href", "").partition(",")[2])
        lines_of_bytes = np.frombuffer(zlib.decompress(data[data.index(b"IDAT") + 4 : -16]), np.uint8).reshape(30, 121)
        assert np.array_equal(lines_of_bytes[:, 1:].reshape(30, 40, 3), pixels)


def test_pictures_go_in_pieces_and_those_between_are_left_out():
    """A large picture is sent as far as there is room; of those that follow meanwhile, only the newest is sent."""
    terminal, sent = Emulator(80, 30, {}, kitty=True), list[bytes]()
    pictures = np.random.default_rng(0).integers(0, 256, (10, 100, 150, 3), dtype=np.uint8)
    canvas = Canvas(sent.append, lambda: None, lambda _, place: [place])
    canvas.use("kitty", Abilities(kitty=True), (10, 20))
    number, place = canvas.number(None, 0), Rect(0, 0, 20, 10)
    for pixels in pictures:
        canvas.show(None, {number: PlacedPicture(pixels, place)})
        time.sleep(0.03)  # encoding takes only a share of the time
    assert len(b"".join(sent)) < FIRST + 2 * CHUNK
    assert canvas.removing.startswith(BROKEN_OFF)
    for _ in range(100):
        terminal.feed(b"".join(sent))
        if not sent:
            break
        sent.clear()
        canvas.arrived()
        time.sleep(0.03)
    assert terminal.pictures == 2
    assert np.array_equal(terminal.images[number][0], pictures[-1])
    assert not canvas.removing.startswith(BROKEN_OFF)


def test_only_what_differs_is_written():
    """Segments that the terminal shows already are left out, until something else is written over them."""
    written, red = Written(), Style(color="red")
    line = [Segment("one", red), Segment("two"), Segment("three", red)]

    def changes(x: int, *segments: Segment) -> list[tuple[int, str]]:
        return [(at, strip.text) for at, strip in written.changed(0, x, [Strip(segments)])]

    assert changes(0, *line) == [(0, "onetwothree")]
    assert changes(0, *line) == []
    assert changes(0, line[0], Segment("TWO"), line[2]) == [(3, "TWO")]
    assert changes(2, Segment("xy")) == [(2, "xy")]
    assert changes(0, line[0], Segment("TWO"), line[2]) == [(0, "oneTWO")]
    written.forget()
    assert changes(0, *line) == [(0, "onetwothree")]


def test_what_covers_a_board_is_left_out():
    """Of a place, the parts above, below and beside a cover remain, without what is outside of the clip."""
    found = uncovered(Rect(0, 0, 10, 6), Rect(0, 0, 10, 5), [Rect(2, 1, 3, 2), Rect(8, 0, 5, 9)])
    cells = np.zeros((6, 10), int)
    for x, y, width, height in found:
        cells[y : y + height, x : x + width] += 1
    wanted = np.ones((6, 10), int)
    wanted[5], wanted[1:3, 2:5], wanted[:, 8:] = 0, 0, 0
    assert np.array_equal(cells, wanted)


@pytest.mark.parametrize(("rate", "delay"), [(250_000, 0.08), (50_000_000, 0.001)])
def test_pictures_fill_a_connection_but_do_not_wait_in_it(rate, delay):
    """A line of two megabits is used, and nothing sent on it waits long; a fast one carries whatever there is."""
    now = 0.0
    pacing = Pacing(lambda: now)
    size, free, sent = 3_000, 0.0, 0
    answers: list[float] = []
    waits: list[float] = []
    while now < 30:
        while answers and answers[0] <= now:
            answers.pop(0)
            pacing.answered()
        if pacing.room:
            free = max(free, now) + size / rate
            waits += [free - now] if now > 5 else []
            answers.append(free + delay)
            pacing.wrote(size)
            pacing.asked()
            sent += size
        now += 1 / 120
    assert sent / 30 > 0.7 * min(rate, 120 * size)
    assert max(waits) < 0.15


def test_an_unanswering_terminal_gets_little():
    """If nothing is answered, ever fewer bytes are on their way, but never none."""
    now = 0.0
    pacing = Pacing(lambda: now)
    for _ in range(200):
        if pacing.room:
            pacing.wrote(8_000)
            pacing.asked()
        now += 0.5
    assert pacing.limit() == LEAST


ANSWERS = {"cell": b"\x1b[6;10;5t", "window": b"\x1b[4;300;400t"}
KITTY_ANSWERS = {**ANSWERS, "version": version(b"kitty(0.35.2)"), "attributes": b"\x1b[?62;c"}
TMUX_ANSWERS = {**ANSWERS, "version": version(b"tmux 3.4"), "attributes": b"\x1b[?1;2c", "passes": b"1"}
SIXEL_ANSWERS = {**ANSWERS, "version": version(b"foot(1.16.2)"), "attributes": b"\x1b[?62;4;22c"}


class Shown:
    """The app of `picture_app.py` in a terminal."""

    def __init__(self, descriptor: int, terminal: Emulator, pid: int) -> None:
        self.descriptor, self.terminal, self.pid = descriptor, terminal, pid
        self.open = True

    def until(self, condition, what: str) -> None:
        end = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < end, (what, self.terminal.cells.display)
            if not self.open:
                time.sleep(0.01)
            elif select.select([self.descriptor], [], [], 0.05)[0]:
                try:
                    data = os.read(self.descriptor, 1 << 16)
                except OSError:
                    data = b""
                self.open = bool(data)
                if answer := self.terminal.feed(data):
                    os.write(self.descriptor, answer)

    def type(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def resize(self, columns: int, lines: int) -> None:
        self.terminal.resize(columns, lines)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def blank(self) -> bool:
        """Whether no picture is on the screen."""
        cells = self.terminal.cells
        placed = any(self.terminal.placeholder(x, y) for y in range(cells.lines) for x in range(cells.columns))
        return not placed and not (self.terminal.pixels >= 0).any()

    def shows(self, pixels: np.ndarray, cover: str = "") -> bool:
        """Whether each cell of the board shows its part of these pixels, but for those of a dialog with this text."""
        covered = [(y, row.find(cover)) for y, row in enumerate(self.terminal.cells.display) if cover and cover in row]
        hidden = {(y, x + at) for y, x in covered for at in range(len(cover))}
        if cover and not hidden:
            return False
        if self.terminal.images:
            return self._shows_kitty(pixels, hidden)
        ys, xs = np.nonzero(self.terminal.pixels[..., 0] >= 0)
        if not len(ys):
            return False
        wide, high = self.terminal.cell
        top, left, bottom, right = 1, int(xs.min()) // wide, 19, int(xs.max()) // wide + 1
        area = self.terminal.pixels[top * high : bottom * high, left * wide : right * wide]
        rows = np.arange(len(area)) * len(pixels) // len(area)
        columns = np.arange(area.shape[1]) * pixels.shape[1] // area.shape[1]
        wanted = np.rint(pixels.astype(float) * 100 / 255).astype(int)[rows][:, columns]
        for y, x in hidden:
            wanted[(y - top) * high : (y - top + 1) * high, (x - left) * wide : (x - left + 1) * wide] = -1
        return np.array_equal(area, wanted)

    def _shows_kitty(self, pixels: np.ndarray, hidden: set[tuple[int, int]]) -> bool:
        ((ident, (image, columns, lines)),) = self.terminal.images.items()
        found = {}
        for y in range(self.terminal.cells.lines):
            for x in range(self.terminal.cells.columns):
                if (cell := self.terminal.placeholder(x, y)) is not None:
                    found[cell] = y, x
        if not found or not np.array_equal(image, pixels):
            return False
        if {which for which, _, _ in found} != {ident}:
            return False  # the rest of a placeholder has not arrived
        missing = lines * columns - len(found)
        return missing == len(hidden) and not hidden & set(found.values())


@contextmanager
def shown(answers, *, kitty, tmp_path):
    """Run the app in a terminal that answers so."""
    pid, descriptor = pty.fork()
    if not pid:
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", XDG_CONFIG_HOME=str(tmp_path))
        for name in ("NO_COLOR", "TMUX", "TEXTUAL_DRIVER"):
            os.environ.pop(name, None)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 80, 0, 0))
        os.execv(sys.executable, [sys.executable, "-m", "tests.tui.picture_app"])
    terminal = Emulator(80, 30, answers, kitty=kitty)
    yield Shown(descriptor, terminal, pid)
    os.close(descriptor)
    os.waitpid(pid, 0)


@pytest.mark.session
@pytest.mark.parametrize("answers", [KITTY_ANSWERS, TMUX_ANSWERS, SIXEL_ANSWERS], ids=["kitty", "tmux", "sixel"])
def test_a_board_is_shown_in_its_pixels(answers, tmp_path):
    """The board is shown, also changed, below a dialog, and in a larger window; and elsewhere nothing of it."""
    with shown(answers, kitty=answers is not SIXEL_ANSWERS, tmp_path=tmp_path) as app:
        app.until(lambda: app.shows(board(0)), "the board")
        app.type(b"c")
        app.until(lambda: app.shows(board(1)), "the change")
        app.type(b"d")
        app.until(lambda: app.shows(board(1), cover="dialog"), "the dialog")
        app.type(b" ")
        app.until(lambda: app.shows(board(1)), "the board after the dialog")
        app.until(lambda: any("typed cd" in row for row in app.terminal.cells.display), "the keys")
        app.resize(100, 32)
        app.until(lambda: app.shows(board(1)), "the board in a larger window")
        app.type(b"h")
        app.until(lambda: app.blank, "another view")
        app.type(b"hp")
        app.until(lambda: app.shows(board(2)), "another page of boards")
        os.kill(app.pid, signal.SIGTSTP)
        app.until(lambda: app.blank and not app.terminal.images, "the terminal of other programs")
        os.waitpid(app.pid, os.WUNTRACED)
        os.kill(app.pid, signal.SIGCONT)
        app.until(lambda: app.shows(board(2)), "the board after the break")
        app.type(b"x" if answers is KITTY_ANSWERS else b"q")
        app.until(lambda: not app.open, "the end")
        assert not app.terminal.images
        assert not app.terminal.cells.display[5].strip() or answers is KITTY_ANSWERS


@pytest.mark.session
def test_a_terminal_without_pictures_gets_half_blocks(tmp_path):
    """A terminal that answers nothing shows half blocks, and no bytes of pictures reach it."""
    with shown({}, kitty=False, tmp_path=tmp_path) as app:
        app.until(lambda: any("▀" in row for row in app.terminal.cells.display), "half blocks")
        app.type(b"q")
        app.until(lambda: not app.open, "the end")
        assert not app.terminal.pictures


def test_text_waits_for_a_slow_terminal_that_says_what_has_arrived():
    """Also without pictures; one that says nothing is written to as before."""
    for answers in (True, False):
        written: list[bytes] = []
        canvas = Canvas(written.append, lambda: None, lambda *_: [])
        canvas.use("off", Abilities(status=answers), (10, 20))
        canvas.wrote(FIRST + 1)
        assert canvas.busy == answers
        assert written == [STATUS] * answers
        canvas.arrived()
        assert not canvas.busy


def test_it_is_known_which_answers_are_due():
    """So that an app does not end before they have come; of a terminal that has never answered, none is."""
    told = Told()
    told.answers.ask()
    assert not told.answers.due
    told.answers.passed(b"\x1b[?6c\x1b[0n")
    assert not told.answers.due
    told.answers.expect_status()
    assert told.answers.due
    assert told.answers.passed(b"a\x1b[0n") == b"a"
    assert not told.answers.due
