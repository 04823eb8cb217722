"""Measures how long `pac-tui watch` takes to show the first board, on top of the startup of the script itself."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .facts import Figures, Progress, summary_of
from .measured_process import MeasurementFailed
from .terminal import Screen
from .turns import alternate

BOARD = "board"
NAP = 0.002  # s
LIMIT = 120.0  # s
SCRIPT = f"""
import pathlib, sys, time
import gymnasium, numpy, torch

class Board(gymnasium.Env):
    metadata = {{"render_modes": ["ansi"]}}
    observation_space = gymnasium.spaces.Box(-1, 1, (4,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, seed=None, options=None):
        return numpy.zeros(4, numpy.float32), {{}}

    def step(self, action):
        return numpy.zeros(4, numpy.float32), 0.0, False, False, {{}}

    def render(self):
        return "{BOARD}"

gymnasium.register("Board-v0", Board)
started, stop = map(pathlib.Path, sys.argv[1:])
envs = gymnasium.make_vec("Board-v0", num_envs=8, vectorization_mode="sync", render_mode="ansi")
envs.reset(seed=1)
while not stop.exists():
    envs.step(envs.action_space.sample())
    if not started.exists():
        started.write_text("")
    time.sleep(0.001)
"""
"""Imports what trainings import, and steps until the file `stop` exists."""


def watch_startup(*, pairs: int = 7, progress: Progress) -> Figures:
    """Start a script alternately with and without `pac-tui watch`.

    Returns:
        `plain`, seconds until the script's first step; `watched`, seconds until the first board; `added`, their
        differences, per pair.
    """
    found = alternate({"plain": _plain, "watched": _watched}, pairs + 1, progress)
    times = {side: seconds[1:] for side, seconds in found.items()}  # files are read from the disk the first time
    times["added"] = [with_app - without for with_app, without in zip(times["watched"], times["plain"], strict=True)]
    return {side: summary_of(seconds) for side, seconds in times.items()}


def _plain() -> float:
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        command, started, stop = _files(Path(folder))
        begun = time.perf_counter()
        script = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
        try:
            while not started.exists():
                if script.poll() is not None or time.perf_counter() > begun + LIMIT:
                    raise MeasurementFailed(f"the script made no step within {LIMIT:.0f} s")
                time.sleep(NAP)
            seconds = time.perf_counter() - begun
            stop.touch()
            script.wait(LIMIT)
        finally:
            script.kill()
            script.wait()
    return seconds


def _watched() -> float:
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        command, _, stop = _files(Path(folder))
        begun = time.perf_counter()
        screen = Screen([sys.executable, "-P", "-m", "pac.tui", "watch", *command])
        try:
            screen.wait_for(" ".join(BOARD))  # a character of a board is two columns wide
            seconds = time.perf_counter() - begun
        finally:
            stop.touch()
            screen.close()
    return seconds


def _files(folder: Path) -> tuple[list[str], Path, Path]:
    """Write the script; return it and its arguments, the file of its first step, and the file that ends it."""
    script, started, stop = (folder / name for name in ("train.py", "started", "stop"))
    script.write_text(SCRIPT)
    return [str(script), str(started), str(stop)], started, stop
