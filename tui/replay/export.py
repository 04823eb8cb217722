"""Exports the app's screens of a recorded episode as an asciicast or as a GIF."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.color import ColorSystem
from rich.style import Style
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip

from ...envs import BadParameter
from ...training.past.episode import Episode
from ..boards import BoardGrid
from ..drawing.styles import GROUND, hex_of
from ..terminal.svg import HEIGHT, SIZE, WIDTH, colors, lines_of, rectangles
from .episode_session import EpisodeConnection, EpisodeSession
from .replay import RATE, ReplayApp

if TYPE_CHECKING:
    from PIL.Image import Image

NOWHERE, SETTLED = Region(0, 0, 0, 0), 5
"""How often the board is at the same place before that is taken for final."""
SCREEN, BOARD_SCREEN = (100, 30), (180, 56)
LIMIT = 10.0  # s for one screen
LAST = 2.0  # s for which the last screen is shown
FONTS = ("DejaVuSansMono.ttf", "LiberationMono-Regular.ttf", "Menlo.ttc")

Screens = Sequence[Sequence[Strip]]


class CannotExport(BadParameter):
    """An episode cannot be written in that form."""

    title = "Cannot export"


def export_episode(episode: Episode, path: Path, target: Path, *, board: bool = False) -> None:
    """Export an episode.

    Args:
        path: The file that it was read from.
        target: A file that ends in `.cast` (asciinema) or `.gif`.
        board: Whether to write only the board, larger than on the screen.

    Raises:
        CannotExport: The file ends in something else, or Pillow is missing.
    """
    writers: dict[str, Callable[[Screens, Path], None]] = {".cast": write_cast, ".gif": write_gif}
    writer = writers.get(target.suffix)
    if writer is None:
        raise CannotExport(f"an episode is exported to {' or '.join(writers)}, got {target.name!r}")
    if target.suffix == ".gif":
        pillow()
    writer(asyncio.run(screens_of(episode, path, board=board)), target)


def pillow() -> Any:
    """Return Pillow.

    Raises:
        CannotExport: It is not installed.
    """
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError as error:
        raise CannotExport("Pillow is missing, which draws GIFs: pip install 'pac-tui[export]'") from error
    return PIL


async def screens_of(episode: Episode, path: Path, *, board: bool = False) -> list[list[Strip]]:
    """Return the screen at every step of an episode, or only the `board` on it without its frame."""
    app = ReplayApp(EpisodeConnection(lambda: EpisodeSession(episode, path)))
    screens = []
    async with app.run_test(size=BOARD_SCREEN if board else SCREEN) as pilot:
        await _wait_for_step(pilot, 0)
        place = await _settled_board(pilot) if board else None
        for step in range(episode.length + 1):
            if step:
                app.debugger.travel(1)
            await _wait_for_step(pilot, step)
            lines = lines_of(app.screen)
            if place is not None:
                lines = [line.crop(place.x, place.right) for line in lines[place.y : place.bottom]]
            screens.append(lines)
    return screens


async def _settled_board(pilot: Pilot[int]) -> Region:
    """Return where the board is within its frame, once the screen has its final layout."""
    widget, before, same, limit = pilot.app.query_one("#board", BoardGrid), NOWHERE, 0, time.monotonic() + LIMIT
    while same < SETTLED:
        await pilot.pause(0.02)
        grid, region = widget.grid_layout, widget.region
        if grid is None or time.monotonic() > limit:
            raise CannotExport("the task has no board")
        column, line = grid.place(0)
        found = Region(region.x + column + 1, region.y + line + 1, grid.scale.columns, grid.scale.lines)
        found = found.intersection(region)
        before, same = found, same + 1 if found == before and found else 0
    return before


async def _wait_for_step(pilot: Pilot[int], step: int) -> None:
    app = pilot.app
    assert isinstance(app, ReplayApp)
    limit = time.monotonic() + LIMIT
    timeline = app.query_one("#timeline")
    while app.debugger.moment is None or app.debugger.moment.step != step or not timeline.size.width:
        if time.monotonic() > limit:
            raise CannotExport(f"step {step} was not drawn within {LIMIT:.0f} s: is the machine busy?")
        await asyncio.sleep(0.005)
    app.refresh_now()
    await pilot.pause(0)


def write_cast(screens: Screens, target: Path, *, rate: float = RATE, title: str = "pac-tui replay") -> None:
    """Write an asciicast, version 2. After the first screen it contains only lines that have changed."""
    width, height = _size(screens[0])
    header = {"version": 2, "width": width, "height": height, "title": title}
    lines = [json.dumps(header)]
    before: list[str] = [""] * height
    for index, screen in enumerate(screens):
        now = [_ansi(line) for line in screen]
        pairs = enumerate(zip(before, now, strict=True))
        data = "".join(f"\x1b[{y + 1};1H{new}" for y, (old, new) in pairs if old != new)
        lines.append(json.dumps([round(index / rate, 3), "o", ("\x1b[2J\x1b[?25l" if not index else "") + data]))
        before = now
    lines.append(json.dumps([round((len(screens) - 1) / rate + LAST, 3), "o", "\x1b[0m\x1b[?25h"]))
    target.write_text("\n".join(lines) + "\n")


def _size(screen: Sequence[Strip]) -> tuple[int, int]:
    return max((line.cell_length for line in screen), default=0), len(screen)


def _ansi(line: Strip) -> str:
    """A line of the screen with escape sequences."""
    return "".join((style or Style()).render(text, color_system=ColorSystem.TRUECOLOR) for text, style, _ in line)


def write_gif(screens: Screens, target: Path, *, rate: float = RATE) -> None:
    """Write an animated GIF."""
    pictures = [_drawn(screen) for screen in screens]
    times = [round(1000 / rate)] * (len(pictures) - 1) + [round(1000 * LAST)]
    pictures[0].save(target, save_all=True, append_images=pictures[1:], duration=times, loop=0, optimize=True)


def _drawn(screen: Sequence[Strip]) -> Image:
    images = pillow()
    columns, lines = _size(screen)
    image = images.Image.new("RGB", (round(columns * WIDTH), round(lines * HEIGHT)), hex_of(GROUND))
    pen = images.ImageDraw.Draw(image)
    pen.font = _font()
    for y, line in enumerate(screen):
        left = 0.0
        for text, style, _ in line:
            front, back = colors(style or Style())
            _fill(pen, (left, y * HEIGHT), (len(text) * WIDTH, HEIGHT), back)
            for index, letter in enumerate(text):
                _write(pen, letter, (left + index * WIDTH, y * HEIGHT), front)
            left += len(text) * WIDTH
    picture: Image = image.quantize(64)
    return picture


def _write(pen: Any, letter: str, at: tuple[float, float], color: str) -> None:
    (x, y), found = at, rectangles(letter)
    if found is None:
        if letter != " ":
            pen.text((x + WIDTH / 2, y + HEIGHT / 2), letter, fill=color, anchor="mm")
        return
    for box in found:
        _fill(pen, (x + box.x, y + box.y), (box.width, box.height), color)


def _fill(pen: Any, at: tuple[float, float], size: tuple[float, float], color: str) -> None:
    """Fill a rectangle of at least one pixel; Pillow includes both corners."""
    (x, y), (width, height) = at, size
    pen.rectangle((x, y, x + max(0.0, width - 1), y + max(0.0, height - 1)), fill=color)


def _font() -> Any:
    """A monospaced font if a known one is installed, otherwise Pillow's own font."""
    fonts = pillow().ImageFont
    for name in FONTS:
        try:
            return fonts.truetype(name, SIZE)
        except OSError:
            continue
    return fonts.load_default(SIZE - 2)
