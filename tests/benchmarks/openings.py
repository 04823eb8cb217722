"""Measures the memory that the app keeps after every dialog and view was opened and closed many times.

python -m tests.benchmarks openings --json
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import chdir
from typing import NamedTuple

import psutil
from textual.pilot import Pilot

from pac.training.bench.facts import Progress, Results
from pac.training.bench.scaling import training
from pac.training.config import Config
from pac.training.session.host import SessionProcess
from pac.training.telemetry.records import Phase
from pac.tui.app.app import PacApp
from pac.tui.connections.connection import SessionConnection

from ..tui.fake_session import Keys, until

TASK, NUM_ENVS = "CartPole-v1", 12
SIZE = 120, 40
WARM_UP = 3
DIALOG = "a dialog"


class Opening(NamedTuple):
    """A dialog or a view.

    Attributes:
        shown: The view that is then shown, or `DIALOG`.
        open: The keys that open it.
        close: Those that close it.
    """

    shown: str
    open: tuple[str, ...]
    close: tuple[str, ...] = ("0",)


def _dialog(*keys: str) -> Opening:
    return Opening(DIALOG, keys, ("escape", "0"))


OPENINGS = {
    "settings": _dialog("comma"),
    "help": _dialog("question_mark"),
    "palette": _dialog("ctrl+p"),
    "another key": Opening(DIALOG, ("ctrl+p", "f2"), ("escape", "escape", "0")),
    "runs": _dialog("R"),
    "other runs": _dialog("O"),
    "list of curves": _dialog("C"),
    "episodes": _dialog("E"),
    "breakpoints": _dialog("b"),
    "sweep": _dialog("v"),
    "leave": _dialog("q"),
    "play": Opening(DIALOG, ("p",), ("escape", "space", "0")),
    "environment by number": _dialog("e"),
    "number of steps": _dialog("N"),
    "number of environments": _dialog("number_sign"),
    "search the output": _dialog("slash"),
    "timing": Opening("timing", ("t",)),
    "curves": Opening("learning", ("l",)),
    "one curve, zoomed": Opening("learning", ("l", "enter", "z", "x"), ("escape", "enter", "x", "x", "0")),
    "workers": Opening("workers", ("w",)),
    "output": Opening("logs", ("o",)),
    "inspect": Opening("environment", ("1", "i"), ("i", "0")),
    "past steps": Opening("environment", ("2", "space", "home", "end"), ("space", "0")),
    "picture of the screen": Opening("summary", ("s",)),
    **{f"environment {number}": Opening("environment", (str(number),)) for number in range(1, 10)},
    "next views": Opening("environment", ("tab", "tab", "shift+tab")),
}


def measure_openings(*, rounds: int = 100, progress: Progress) -> Results:
    """Open and close everything by its keys in the app, which shows a training in another process.

    Args:
        rounds: How often each is opened.
        progress: Called with what is opened.

    Returns:
        `kept`: the bytes that the app's process has in memory (RSS) beyond those after three rounds, and `growth`, the
        same after each tenth of the rounds.
    """
    config = Config(task=TASK, num_envs=NUM_ENVS, device="cpu", checkpoint_every=0, linger=600)
    with training(config) as session, tempfile.TemporaryDirectory(prefix="pac-bench-") as folder, chdir(folder):
        try:
            growth = asyncio.run(_opened(session, rounds, progress))
        finally:
            session.kill()
    return {"openings": len(OPENINGS), "rounds": rounds, "kept": growth[-1], "growth": growth}


async def _opened(session: SessionProcess, rounds: int, progress: Progress) -> list[int]:
    connection = SessionConnection(lambda: session, "process")
    app = PacApp(connection)
    memory, growth = psutil.Process(os.getpid()).memory_info, list[int]()
    try:
        async with app.run_test(size=SIZE):
            pilot = Keys(app)
            await until(lambda: app.state.phase is Phase.RUNNING, "the training")
            for number in range(WARM_UP + rounds):
                if number == WARM_UP:
                    begun = memory().rss
                for name, opening in OPENINGS.items():
                    progress(name, number / (WARM_UP + rounds))
                    await _open_and_close(app, pilot, opening)
                if number >= WARM_UP and (number - WARM_UP + 1) % max(1, rounds // 10) == 0:
                    growth.append(memory().rss - begun)
    finally:
        connection.close()
    return growth


async def _open_and_close(app: PacApp, pilot: Pilot[int], opening: Opening) -> None:
    await pilot.press(*opening.open)
    await until(lambda: opening.shown == (DIALOG if len(app.screen_stack) > 1 else app.state.view), str(opening))
    await pilot.press(*opening.close)
    await until(lambda: len(app.screen_stack) == 1 and app.state.view == "summary", f"its end: {opening}")
