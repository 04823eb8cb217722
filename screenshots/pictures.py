"""Takes the pictures in `screenshots/`: the real app with real, short trainings, at three terminal sizes."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textual.pilot import Pilot

from pac.training.config import Config
from pac.training.session.host import launch
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import Snapshot
from pac.tui.app.app import PacApp
from pac.tui.connections.connection import SessionConnection
from pac.tui.terminal.svg import lines_of, svg_of

SIZES = ((80, 24), (120, 40), (200, 60))
TRIED = (2, 4, 8)
LIMIT = 180.0
FILL = 3.0  # s in which a view fills
IDLE = 20.0  # s in which the app's cost falls after the picture before
USUAL_COST = 0.05  # of a core


async def wait_for(pilot: Pilot[int], what: str, condition: Callable[[Snapshot], bool]) -> None:
    """Wait until a snapshot fulfills a condition.

    Raises:
        TimeoutError: The condition did not become true in time.
    """
    app = pilot.app
    assert isinstance(app, PacApp)
    limit = time.monotonic() + LIMIT
    while app.state.snapshot is None or not condition(app.state.snapshot):
        if time.monotonic() > limit or app.state.phase.over:
            said = app.state.lost or (app.state.snapshot.message if app.state.snapshot else "nothing")
            raise TimeoutError(f"waiting for {what}; the session is {app.state.phase.name.lower()} and said: {said}")
        await asyncio.sleep(0.05)


async def train(pilot: Pilot[int], seconds: float) -> None:
    """Measure the baseline and several N, and train for a number of seconds."""
    await wait_for(pilot, "the first episodes", lambda now: now.phase is Phase.RUNNING and now.state["episodes"] > 0)
    await pilot.press("B")
    await wait_for(pilot, "the baseline", lambda now: now.baseline is not None and now.phase is Phase.RUNNING)
    app = pilot.app
    assert isinstance(app, PacApp)
    for count in TRIED:
        app.training.send("restart", num_envs=count)
        await wait_for(pilot, f"{count} environments", partial(_tried, count))
    begin = float(app.state.snapshot.state["training_seconds"]) if app.state.snapshot else 0.0
    await wait_for(pilot, "some learning", lambda now: now.state["training_seconds"] > begin + seconds)


def _tried(count: int, snapshot: Snapshot) -> bool:
    running = snapshot.phase is Phase.RUNNING and snapshot.num_envs == count
    return running and any(item.num_envs == count for item in snapshot.scaling)


async def learn(pilot: Pilot[int], seconds: float) -> None:
    """Train for a number of seconds."""
    await wait_for(pilot, "some learning", lambda now: now.state["training_seconds"] > seconds)


class Subject(NamedTuple):
    """A training of which pictures are taken.

    Attributes:
        task: The task.
        num_envs: Number of environments.
        views: Names of pictures, and the keys that show their views.
        before: Called with the pilot and `seconds` before the first picture.
        seconds: Seconds of training.
    """

    task: str
    num_envs: int
    views: Mapping[str, str]
    before: Callable[[Pilot[int], float], Awaitable[None]] = learn
    seconds: float = 30.0


async def take_pictures(folder: Path, config: Config, subject: Subject) -> list[Path]:
    """Train and take a picture of every view at every size; return the files."""
    app = PacApp(SessionConnection(lambda: launch(config)))
    pictures = []
    async with app.run_test(size=SIZES[-1]) as pilot:
        await subject.before(pilot, subject.seconds)
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            for name, key in subject.views.items():
                await pilot.press(key)
                await pilot.pause(FILL)
                end = time.monotonic() + IDLE
                while app.scheduler.cost > USUAL_COST and time.monotonic() < end:
                    await pilot.pause(0.1)
                app.draw_footer()
                await pilot.pause()
                path = folder / f"{name}-{width}x{height}.svg"
                path.write_text(svg_of(lines_of(app.screen)))
                pictures.append(path)
        await pilot.press("q", "enter")
        await wait_for(pilot, "the end", lambda now: now.phase.over)
    return pictures


def to_png(picture: Path) -> None:
    """Convert a picture to PNG if rsvg-convert is installed."""
    converter = shutil.which("rsvg-convert")
    if converter:
        subprocess.run([converter, "--zoom", "1", "-o", picture.with_suffix(".png"), picture], check=True)


ALL = {"summary": "0", "environment": "3", "timing": "t", "learning": "l", "workers": "w"}
SUBJECTS = {
    "drmario": Subject("drmario", TRIED[-1], ALL, train, 160.0),
    "autochess": Subject("autochess:players=8", 16, {"autochess": "0", "autochess-environment": "3"}),
    "leduc": Subject("leduc", 4, {"leduc": "0", "leduc-learning": "l"}),
    "holdem": Subject("holdem", 4, {"holdem": "0", "holdem-worker": "1"}),
}


def main() -> int:
    """Take the pictures of the subjects named by the arguments after the folder, or of all."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as runs:
        for name in sys.argv[2:] or SUBJECTS:
            subject = SUBJECTS[name]
            config = Config(task=subject.task, num_envs=subject.num_envs, runs_dir=Path(runs), name=name)
            for picture in asyncio.run(take_pictures(folder, config, subject)):
                to_png(picture)
                sys.stdout.write(f"{picture}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
