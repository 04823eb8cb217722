"""Measures the overhead of `pac-tui watch`: unchanged scripts alternately with and without it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from .facts import Progress, Results, summary_of
from .measured_process import MeasuredProcess, MeasurementFailed
from .parts import WATCHED
from .terminal import Screen, drain, on_terminal
from .turns import alternate
from .watched.loops import LOOPS

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


def watch_startup(*, pairs: int = 7, progress: Progress) -> Results:
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


SCRIPTS = Path(__file__).parent / "watched"
PLAIN = (sys.executable,)
WATCH = (sys.executable, "-P", "-m", "pac.tui", "watch", "--headless", "--python", sys.executable)
SETTLING = 0.15  # s: what became due while a process was stopped is done in these
Turn = dict[str, float]


def watch_cost(*, seconds: float = WATCHED, pairs: int = 24, rounds: int = 7, progress: Progress) -> Results:
    """Train in several loops, each with `watch` and without, unattached and with the app attached.

    A pair is `seconds` of training with `watch` and as many without, in processes that are stopped meanwhile.

    Returns:
        By training and viewer: the time that `watch` adds, as a share of the time without it, per pair, on the clock
        (`added`) and in CPU time of the script's process (`cpu`); `many`, the CPU time of a script with 200
        environments, over that without `watch`, per round; and `startup`, what `watch_startup` returns.
    """
    ways = [(loop, attached) for loop in measurable() for attached in (False, True)]
    added: dict[str, dict[str, Results]] = {}
    cpu: dict[str, dict[str, Results]] = {}
    for number, (loop, attached) in enumerate(ways):
        who = "attached" if attached else "nobody"
        progress(f"{loop}, {who}", number / (len(ways) + 2))
        turns = loop_turns(loop, seconds, pairs, attached=attached)
        added.setdefault(loop, {})[who] = summary_of(shares(turns, "wall"))
        cpu.setdefault(loop, {})[who] = summary_of(shares(turns, "cpu"))
    progress("200 environments", len(ways) / (len(ways) + 2))
    many = alternate({"plain": lambda: cpu_time(PLAIN), "watched": lambda: cpu_time(WATCH)}, rounds)
    times = [watched / plain for watched, plain in zip(many["watched"], many["plain"], strict=True)]
    progress("startup", (len(ways) + 1) / (len(ways) + 2))
    startup = watch_startup(pairs=rounds, progress=lambda _what, _share: None)
    return {"seconds": seconds, "added": added, "cpu": cpu, "many": summary_of(times), "startup": startup}


def measurable() -> list[str]:
    """Return the trainings that can be measured: that of Stable-Baselines3 only if it is installed."""
    return [name for name in LOOPS if name != "sb3" or find_spec("stable_baselines3") is not None]


def shares(turns: Sequence[tuple[Turn, Turn]], clock: str) -> list[float]:
    """Return by how much an iteration took longer in the second turn of each pair, as a share of the first."""
    each = [[turn[clock] / turn["iterations"] for turn in pair] for pair in turns]
    return [watched / plain - 1 for plain, watched in each]


def loop_turns(loop: str, seconds: float, pairs: int, *, attached: bool) -> list[tuple[Turn, Turn]]:
    """Return the pairs of turns of a training, without `watch` and with it."""
    script = [str(SCRIPTS / "loops.py"), loop]
    app, terminal = None, -1
    with (
        closing(MeasuredProcess(loop, [*PLAIN, *script])) as plain,
        closing(MeasuredProcess(f"{loop}, watched", [*WATCH, *script])) as watched,
    ):
        try:
            if attached:
                app, terminal = on_terminal([sys.executable, "-P", "-m", "pac.tui", "attach", str(watched.pid)])
                threading.Thread(target=drain, args=(terminal,), daemon=True).start()
            for side in (plain, watched):  # the app joins in this time
                side.measure(2.0 if attached else SETTLING, 0.1)
            sides = {
                "plain": lambda: plain.measure(SETTLING, seconds),
                "watched": lambda: watched.measure(SETTLING, seconds),
            }
            turns = alternate(sides, pairs)
            if app is not None and app.poll() is not None:
                raise MeasurementFailed("the app did not stay attached")
            return list(zip(turns["plain"], turns["watched"], strict=True))
        finally:
            if app is not None:
                app.kill()
                app.wait()
                with contextlib.suppress(OSError):
                    os.close(terminal)


def cpu_time(command: Sequence[str]) -> float:
    """Return the CPU time of the script with many environments, in seconds."""
    with tempfile.TemporaryFile() as log:
        streams = [(os.POSIX_SPAWN_DUP2, log.fileno(), stream) for stream in (1, 2)]
        script = [*command, str(SCRIPTS / "many.py")]
        pid = os.posix_spawn(script[0], script, dict(os.environ), file_actions=streams)
        _, status, used = os.wait4(pid, 0)
        if status:
            log.seek(0)
            raise MeasurementFailed(f"the script failed:\n{log.read().decode(errors='replace').strip()}")
    return used.ru_utime + used.ru_stime
