"""Exports the app's screens of a recorded episode as an asciicast or as a GIF."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.pilot import Pilot
from textual.strip import Strip

from ...training.past.episode import Episode
from ..terminal.raster import CannotExport, drawn, pillow
from ..terminal.svg import lines_of
from .episode_session import EpisodeConnection, EpisodeSession
from .film_files import write_cast, write_gif
from .replay import RATE, ReplayApp

SCREEN = (100, 30)
LIMIT = 10.0  # s for one screen

Screens = Sequence[Sequence[Strip]]


def export_episode(episode: Episode, path: Path, target: Path) -> None:
    """Export the app's screens of an episode.

    Args:
        path: The file that it was read from.
        target: A file that ends in `.cast` (asciinema) or `.gif`.

    Raises:
        CannotExport: The file ends in something else or cannot be written, or Pillow is missing.
    """
    writers: dict[str, Callable[[Screens, Path], None]] = {".cast": _write_cast, ".gif": _write_gif}
    writer = writers.get(target.suffix)
    if writer is None:
        raise CannotExport(
            f"the screens of an episode are exported to {' or '.join(writers)}, got {target.name!r}; "
            "--video writes films of the board"
        )
    if target.suffix == ".gif":
        pillow()
    writer(asyncio.run(screens_of(episode, path)), target)


def _write_cast(screens: Screens, target: Path) -> None:
    write_cast(iter(screens), target, RATE, "pac-tui replay")


def _write_gif(screens: Screens, target: Path) -> None:
    write_gif(map(drawn, screens), target, RATE)


async def screens_of(episode: Episode, path: Path) -> list[list[Strip]]:
    """Return the screen at every step of an episode."""
    app = ReplayApp(EpisodeConnection(lambda: EpisodeSession(episode, path)))
    screens = []
    async with app.run_test(size=SCREEN) as pilot:
        for step in range(episode.length + 1):
            if step:
                app.debugger.travel(1)
            await _wait_for_step(pilot, step)
            screens.append(lines_of(app.screen))
    return screens


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
