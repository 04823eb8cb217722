"""Real pictures in a terminal: how many are shown, what they cost, and how soon keys are answered on a slow line.

The terminal is this program: it answers as kitty does, at once or behind a line of some rate and delay.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import random
import re
import select
import signal
import struct
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil

from pac.training.bench.facts import Progress, Results

TASK = "ALE/Breakout-v5"
COLUMNS, LINES, CELL = 200, 60, (10, 20)
QUESTION = re.compile(rb"\x1b\[(>0q|16t|c|5n)|\x1b_Ga=T,U=1,i=31,[^\x1b]*\x1b\\")
ANSWERS = {
    b">0q": b"\x1bP>|kitty(0.35.2)\x1b\\",
    b"16t": b"\x1b[6;%d;%dt" % CELL[::-1],
    b"c": b"\x1b[?62;c",
    b"5n": b"\x1b[0n",
}
KITTY = b"\x1b_Gi=31;OK\x1b\\"
SILENT = {b"5n": b"\x1b[0n", b"c": b"\x1b[?62;c"}
PLAY = "--num-envs", "1", "--trainer", "random"
"""Steps without pauses for learning."""
PICTURE = b"a=T,U=1,q=2"
SETTINGS, SHOWN = b",", b"s saves"
DOWN = b"\x1b[B"
DESCRIBED = b"auto uses ASCII", b"Use colors", b"Board of one env", b"Boards in the sum"
"""How the descriptions of the settings begin that DOWN selects one after the other."""
SELECTIONS = len(DESCRIBED)
ESCAPE = b"\x1b[27u"
BUFFER = 64 * 1024
"""Bytes that wait in front of the line before the app has to wait."""
LONGEST_QUESTION = 64
START = 60.0


class Line(NamedTuple):
    """A connection: bytes per second, and the seconds from one end to the other."""

    rate: float
    delay: float


LOCAL, SLOW = Line(1e9, 0.0), Line(2e6 / 8, 0.04)


class Terminal:
    """The app of a training, in a terminal behind a line.

    Attributes:
        pictures: Pictures that have arrived.
        received: The end of what has arrived.
    """

    def __init__(self, pid: int, descriptor: int, line: Line, *, kitty: bool) -> None:
        self.app = psutil.Process(pid)
        self._descriptor, self._line, self._kitty = descriptor, line, kitty
        self._free = 0.0
        self._down: deque[tuple[float, bytes]] = deque()
        self._up: deque[tuple[float, bytes]] = deque()
        self._tail = b""
        self.pictures, self.received, self.open = 0, b"", True

    def press(self, key: bytes) -> None:
        """Press a key."""
        self._up.append((time.monotonic() + self._line.delay, key))

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Be a terminal for some time, or until something is true; return whether it is."""
        end = time.monotonic() + seconds
        while self.open and time.monotonic() < end:
            self._move()
            if until():
                return True
        return until()

    def _move(self) -> None:
        now = time.monotonic()
        while self._up and self._up[0][0] <= now:
            os.write(self._descriptor, self._up.popleft()[1])
        while self._down and self._down[0][0] <= now:
            self._arrive(self._down.popleft()[1])
        if self._free - now > BUFFER / self._line.rate or not select.select([self._descriptor], [], [], 0.002)[0]:
            time.sleep(0.001)
            return
        try:
            data = os.read(self._descriptor, 4096)
        except OSError:
            data = b""
        self.open = bool(data)
        self._free = max(self._free, now) + len(data) / self._line.rate
        self._down.append((self._free + self._line.delay, data))

    def _arrive(self, data: bytes) -> None:
        text = self._tail + data
        self.received = (self.received + data)[-BUFFER:]
        at = 0
        answers = ANSWERS if self._kitty else SILENT
        for found in QUESTION.finditer(text):
            at = found.end()
            answer = answers.get(found[1], b"") if found[1] else KITTY if self._kitty else b""
            if answer:
                self._up.append((time.monotonic() + self._line.delay, answer))
        self.pictures += text.count(PICTURE) - self._tail.count(PICTURE)
        self._tail = text[max(at, len(text) - LONGEST_QUESTION) :]


@contextmanager
def shown(line: Line, folder: Path, *arguments: str, kitty: bool = True) -> Iterator[Terminal]:
    """Train Breakout in a terminal."""
    command = [sys.executable, "-m", "pac.tui", "--task", TASK, "--name", "shown", *arguments]
    pid, descriptor = pty.fork()
    if not pid:
        os.chdir(folder)
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", XDG_CONFIG_HOME=str(folder))
        for name in ("NO_COLOR", "TMUX", "TEXTUAL_DRIVER"):
            os.environ.pop(name, None)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.execv(sys.executable, command)
    terminal = Terminal(pid, descriptor, line, kitty=kitty)
    try:
        yield terminal
    finally:
        if terminal.open:
            os.kill(pid, signal.SIGTERM)
            terminal.run(START, lambda: not terminal.open)
        os.close(descriptor)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def measure_pictures(
    *, seconds: float = 15.0, presses: int = 40, steps: int = 12_000, rounds: int = 3, progress: Progress
) -> Results:
    """Show one environment of Breakout in pictures, on this machine and behind a slow line, and train with them.

    Args:
        seconds: Seconds of each showing.
        presses: Key presses on the slow line.
        steps: Steps of each training.
        rounds: Trainings with pictures and without, alternately.
        progress: Is told what is measured.
    """
    progress("local", 0.0)
    with TemporaryDirectory() as folder, shown(LOCAL, Path(folder), *PLAY) as terminal:
        local = _rate(terminal, seconds)
    progress("slow line", 0.2)
    with TemporaryDirectory() as folder, shown(SLOW, Path(folder), *PLAY) as terminal:
        slow = {**_rate(terminal, seconds), **_answers(terminal, presses)}
    progress("slow line, half blocks", 0.3)
    with TemporaryDirectory() as folder, shown(SLOW, Path(folder), *PLAY, kitty=False) as terminal:
        assert terminal.run(START, lambda: b"Env 1" in terminal.received), "nothing is shown"
        terminal.press(b"1")
        terminal.run(6.0)
        half_blocks = _answers(terminal, presses)
    rates: dict[bool, list[float]] = {True: [], False: []}
    for at in range(2 * rounds):
        progress("training", 0.4 + 0.6 * at / (2 * rounds))
        with TemporaryDirectory() as folder:
            kitty = at % 2 == at // 2 % 2
            rates[kitty].append(_training(Path(folder), steps, kitty=kitty))
    with_pictures, without = median(rates[True]), median(rates[False])
    training = {"with": with_pictures, "without": without, "ratio": with_pictures / without, "rates": rates}
    return {"task": TASK, "local": local, "slow": slow, "slow_half_blocks": half_blocks, "training": training}


def _rate(terminal: Terminal, seconds: float) -> Results:
    """Return pictures per second of one environment, and what the app takes of a core."""
    assert terminal.run(START, lambda: terminal.pictures > 3), "no pictures"
    terminal.press(b"1")
    terminal.run(6.0)  # until the connection is known, and the app no longer costs what opening the view did
    before, begun, count = terminal.app.cpu_times(), time.monotonic(), terminal.pictures
    terminal.run(seconds)
    after, took = terminal.app.cpu_times(), time.monotonic() - begun
    used = after.user + after.system - before.user - before.system
    return {"pictures_per_second": (terminal.pictures - count) / took, "cpu": used / took}


def _answers(terminal: Terminal, presses: int) -> Results:
    """Return the seconds from keys to the screen: of one that opens a dialog, and of ones that select in it."""
    opened, selected = [], []
    for _ in range(-(-presses // SELECTIONS)):
        opened.append(_answer(terminal, SETTINGS, SHOWN))
        selected += [_answer(terminal, DOWN, DESCRIBED[at]) for at in range(SELECTIONS)]
        terminal.press(ESCAPE)
        terminal.run(1.5)
    return {"key": _spread(selected), "dialog": _spread(opened)}


def _answer(terminal: Terminal, key: bytes, shown: bytes) -> float:
    """Return the seconds from a key until something is on the screen that only this key shows."""
    terminal.run(random.uniform(0.2, 0.6))
    terminal.received, begun = b"", time.monotonic()
    terminal.press(key)
    assert terminal.run(10.0, lambda: shown in terminal.received), f"{shown!r} is not shown"
    return time.monotonic() - begun


def _spread(seconds: list[float]) -> Results:
    return {"median": median(seconds), "p95": quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]}


def _training(folder: Path, steps: int, *, kitty: bool) -> float:
    """Return steps per second of a training whose first environment is shown."""
    with shown(LOCAL, folder, "--num-envs", "4", "--steps", str(steps), kitty=kitty) as terminal:
        terminal.run(3.0)
        terminal.press(b"1")
        terminal.run(600.0, lambda: not terminal.open)
    rows = [json.loads(line) for line in (folder / "runs" / "shown" / "metrics.jsonl").read_text().splitlines()]
    return float((rows[-1]["steps"] - rows[0]["steps"]) / (rows[-1]["seconds"] - rows[0]["seconds"]))
