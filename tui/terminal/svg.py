"""The screen as an SVG that looks the same everywhere: blocks, frames and dots are shapes, only text needs a font."""

from __future__ import annotations

import time
from base64 import standard_b64encode
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from rich.color import blend_rgb
from rich.segment import Segment
from rich.style import Style
from textual.screen import Screen
from textual.strip import Strip

from ..boards.cells import QUADRANTS
from ..drawing.styles import GROUND, TEXT, hex_of
from ..pictures.canvas import Visible
from ..pictures.kitty import PLACEHOLDER
from ..pictures.png import png

WIDTH, HEIGHT = 8.4, 17.0
SIZE, BASELINE = 14, 12.9
MARGIN = 12
FONT = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
DIM = 0.6

LEFTS = " ▏▎▍▌▋▊▉█"
LOWERS = " ▁▂▃▄▅▆▇█"
ARMS = {
    "─": "lr", "│": "ud", "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu",
    "┤": "lud", "├": "rud", "┬": "lrd", "┴": "lru", "┼": "lrud",
    "━": "LR", "┃": "UD", "┏": "RD", "┓": "LD", "┗": "RU", "┛": "LU",
}  # fmt: skip
DOT_ROWS = ((0, 3), (1, 4), (2, 5), (6, 7))


class Box(NamedTuple):
    """A rectangle within a character, as fractions of it or in pixels."""

    x: float
    y: float
    width: float
    height: float


def boxes(letter: str) -> list[Box] | None:
    """Return the rectangles of a block character; None for any other character."""
    if letter in QUADRANTS[1:]:
        bits = QUADRANTS.index(letter)
        if bits == 15:
            return [Box(0, 0, 1, 1)]
        return [Box(bit % 2 / 2, bit // 2 / 2, 0.5, 0.5) for bit in range(4) if bits >> bit & 1]
    if letter in LEFTS[1:]:
        return [Box(0, 0, LEFTS.index(letter) / 8, 1)]
    if letter in LOWERS[1:]:
        height = LOWERS.index(letter) / 8
        return [Box(0, 1 - height, 1, height)]
    if letter == "■":
        return [Box(0.1, 0.28, 0.8, 0.44)]
    return None


def lines_of(screen: Screen[Any]) -> list[Strip]:
    """Return the lines of a screen. Textual's own screenshots need a web font."""
    return list(screen._compositor.render_strips())  # noqa: SLF001 - Textual has no public method for this


def stacked_lines(screens: Sequence[Screen[Any]]) -> list[Strip]:
    """Return the lines of the first screen, with the widgets of the screens over it."""
    lines = lines_of(screens[0])
    for screen in screens[1:]:
        over = lines_of(screen)
        for region in (widget.region for widget in screen.children if widget.display):
            for y in range(max(0, region.y), min(len(lines), region.bottom)):
                pieces = lines[y].crop(0, region.x), over[y].crop(region.x, region.right), lines[y].crop(region.right)
                lines[y] = Strip.join(pieces)
    return lines


def save_svg(screen: Screen[Any], pictures: Sequence[Visible] = ()) -> Path:
    """Write what is shown as an SVG into the working directory, named after the time; return its path.

    Args:
        screen: The uppermost screen.
        pictures: The real pictures on it.
    """
    path = Path(time.strftime("pac-tui-%Y%m%d-%H%M%S.svg")).resolve()
    try:
        picture = svg_of(stacked_lines(screen.app.screen_stack), pictures)
    except AttributeError:  # another version of Textual
        picture = screen.app.export_screenshot()
    path.write_text(picture)
    return path


def svg_of(lines: Sequence[Strip], pictures: Sequence[Visible] = ()) -> str:
    """Return the lines of a screen, and the real pictures on it, as an SVG document."""
    columns = max((line.cell_length for line in lines), default=0)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    shapes = "\n".join(shape for y, line in enumerate(lines) for shape in _line(line, MARGIN + y * HEIGHT))
    images = "\n".join(image for visible in pictures for image in _images(visible))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}">\n<rect width="100%" height="100%" rx="8" fill="{hex_of(GROUND)}"/>\n'
        f'<g font-family="{FONT}" font-size="{SIZE}" xml:space="preserve">\n{shapes}\n</g>\n{images}</svg>\n'
    )


def _images(visible: Visible) -> Iterator[str]:
    """Yield the visible parts of a picture, each as a window on the whole."""
    (pixels, place), parts = visible
    height, width, _ = pixels.shape
    across, down = width / place.width, height / place.height
    data = standard_b64encode(png(pixels)).decode()
    image = f'<image width="{width}" height="{height}" href="data:image/png;base64,{data}"/>'
    for x, y, columns, lines in parts:
        window = f"{(x - place.x) * across:.2f} {(y - place.y) * down:.2f} {columns * across:.2f} {lines * down:.2f}"
        yield (
            f'<svg x="{MARGIN + x * WIDTH:.1f}" y="{MARGIN + y * HEIGHT:.1f}" width="{columns * WIDTH:.1f}" '
            f'height="{lines * HEIGHT:.1f}" viewBox="{window}" preserveAspectRatio="none" '
            f'style="image-rendering:pixelated">{image}</svg>'
        )


def _line(line: Iterable[Segment], top: float) -> Iterator[str]:
    """The shapes of one line: backgrounds first, then characters."""
    front: list[str] = []
    left, usual = float(MARGIN), hex_of(GROUND)
    for text, style, _ in line:
        if text.startswith(PLACEHOLDER):
            left += text.count(PLACEHOLDER) * WIDTH
            continue
        color, ground = colors(style or Style())
        wide = len(text) * WIDTH
        if ground != usual:
            area = f'width="{wide + 0.3:.1f}" height="{HEIGHT + 0.3}"'
            yield f'<rect x="{left:.1f}" y="{top:.1f}" {area} fill="{ground}"/>'
        front += _text(text, left, top, color, bold=bool(style and style.bold))
        left += wide
    yield from front


def colors(style: Style) -> tuple[str, str]:
    """Return the foreground and background color of a style."""
    front = style.color.get_truecolor().hex if style.color and not style.color.is_default else hex_of(TEXT)
    back = style.bgcolor.get_truecolor().hex if style.bgcolor and not style.bgcolor.is_default else hex_of(GROUND)
    if style.reverse:
        front, back = back, front
    if style.dim and style.color and style.bgcolor:
        front = blend_rgb(style.bgcolor.get_truecolor(), style.color.get_truecolor(), DIM).hex
    return front, back


def _text(text: str, left: float, top: float, color: str, *, bold: bool) -> Iterator[str]:
    """Yield shapes for block characters and text elements for words."""
    path, words, begin = "", "", left
    for index, letter in enumerate(text):
        x = left + index * WIDTH
        drawn = _shape(letter, x, top)
        if drawn is None and letter != " ":
            begin = begin if words else x
            words += letter
            continue
        if words:
            yield _words(words, begin, top, color, bold=bold)
            words = ""
        path += drawn or ""
    if words:
        yield _words(words, begin, top, color, bold=bold)
    if path:
        yield f'<path d="{path}" fill="{color}"/>'


def _words(text: str, left: float, top: float, color: str, *, bold: bool) -> str:
    weight = ' font-weight="bold"' if bold else ""
    length = f' textLength="{len(text) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{left:.1f}" y="{top + BASELINE:.1f}" fill="{color}"{weight}{length}>{escape(text)}</text>'


def _shape(letter: str, x: float, y: float) -> str | None:
    """The path of a block, a box-drawing character or braille dots; None for any other character."""
    found = rectangles(letter)
    if found is None:
        return None
    return "".join(
        f"M{x + box.x:.1f} {y + box.y:.1f}h{box.width:.1f}v{box.height:.1f}h-{box.width:.1f}z" for box in found
    )


def rectangles(letter: str) -> list[Box] | None:
    """Return the pixels of a block, a box-drawing character or braille dots; None for any other character."""
    found = boxes(letter)
    if found is not None:
        return [Box(box.x * WIDTH, box.y * HEIGHT, box.width * WIDTH, box.height * HEIGHT) for box in found]
    if letter in ARMS:
        return [_arm(arm) for arm in ARMS[letter]]
    code = ord(letter) - 0x2800
    if 0 <= code < 0x100:
        return [
            Box((0.2 + 0.5 * column) * WIDTH, (0.08 + 0.25 * row) * HEIGHT, 1.7, 1.7)
            for row, pair in enumerate(DOT_ROWS)
            for column, bit in enumerate(pair)
            if code >> bit & 1
        ]
    return None


def _arm(arm: str) -> Box:
    """Half of a line, from the middle of a character to one of its sides; thick if `arm` is a capital."""
    thick = 2.4 if arm.isupper() else 1.1
    middle, centre = (WIDTH - thick) / 2, (HEIGHT - thick) / 2
    side = arm.lower()
    if side in "lr":
        return Box(0 if side == "l" else middle, centre, (WIDTH + thick) / 2, thick)
    return Box(middle, 0 if side == "u" else centre, thick, (HEIGHT + thick) / 2)
