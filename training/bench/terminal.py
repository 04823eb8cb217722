"""Runs the app on a pseudo-terminal, as a person does, and reads what it draws."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import cycle, islice

import psutil

from ..telemetry.blocks import TelemetryReader
from ..telemetry.records import Phase
from .facts import Results, summary_of
from .measured_process import MeasurementFailed

COLUMNS, LINES = 200, 60
LIMIT = 120.0  # s
KEYS = {
    "open an environment": ("3", " Env 3/"),
    "next environment": ("\t", " Env 4/"),
    "timing": ("t", "Time of a step by phase"),
    "learning": ("l", "Length, mean of 100"),
    "summary": ("0", "Throughput"),
}
"""Keys that open views, and what these draw."""
KEY_LIMIT = 10.0  # s until a key must have changed the screen
CHUNK = 1 << 16  # bytes


def on_terminal(command: list[str], size: tuple[int, int] = (COLUMNS, LINES)) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command on a new terminal; return the process and a descriptor of the terminal's other end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    return process, ours


def drain(terminal: int) -> None:
    """Read what the app draws until it ends."""
    with contextlib.suppress(OSError):  # raised when the app has closed its end
        while os.read(terminal, CHUNK):
            pass


class Screen:
    """The app on a terminal, with methods to type and to wait for text."""

    def __init__(self, command: list[str], size: tuple[int, int] = (COLUMNS, LINES)) -> None:
        self._started, self._terminal = on_terminal(command, size)
        self.process = psutil.Process(self._started.pid)

    def press(self, key: str) -> None:
        os.write(self._terminal, key.encode())

    def wait_for(self, text: str, limit: float = LIMIT) -> None:
        """Read until the app has drawn `text`.

        Raises:
            MeasurementFailed: The app did not draw it within `limit` seconds.
        """
        end, drawn, wanted = time.monotonic() + limit, b"", text.encode()
        while wanted not in drawn:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise MeasurementFailed(f"the app did not draw {text!r} within {limit:.0f} s")
            drawn = drawn[-len(wanted) :] + os.read(self._terminal, CHUNK)

    def read_for(self, seconds: float) -> None:
        """Read what the app draws for some seconds."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self._terminal], [], [], left)[0]:
                os.read(self._terminal, CHUNK)

    def close(self, keys: str = "q\r") -> None:
        """Quit the app with these keys and close the terminal."""
        with contextlib.suppress(OSError):
            self.press(keys)
        drain(self._terminal)
        self._started.wait()
        os.close(self._terminal)


@contextlib.contextmanager
def app_on_terminal(num_envs: int) -> Iterator[Screen]:
    """Run the app with a training on a 200x60 terminal, and delete the run afterwards."""
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        options = ["--num-envs", str(num_envs), "--runs-dir", folder]
        with closing(Screen([sys.executable, "-P", "-m", "pac.tui", "run", *options])) as screen:
            yield screen


def key_times(
    screen: Screen, kinds: Mapping[str, tuple[str, str]], presses: int, *, pause: float
) -> dict[str, list[float]]:
    """Press keys in turn; return the milliseconds from each key to the last byte of the change on screen.

    Args:
        screen: The app, whose training runs.
        kinds: For each kind of change its key and the text that it draws; one of them is `learning`.
        pause: Seconds between two of them.
    """
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    key, text = kinds["learning"]
    screen.press(key)
    screen.wait_for(text)  # the first curves appear after an iteration and an episode
    for kind, (key, text) in islice(cycle(kinds.items()), presses):
        screen.read_for(pause)
        begin = time.perf_counter()
        screen.press(key)
        screen.wait_for(text, limit=KEY_LIMIT)
        times[kind].append(1000 * (time.perf_counter() - begin))
    return times


def summary_of_keys(times: Mapping[str, Sequence[float]]) -> Results:
    """Return the number of `presses`, a summary of their `milliseconds`, and the 95th percentile."""
    every = sorted(value for values in times.values() for value in values)
    p95 = every[min(len(every) - 1, round(0.95 * len(every)))]
    return {"presses": len(every), "milliseconds": summary_of(every), "p95": p95}


def wait_until_it_runs(reader: TelemetryReader) -> None:
    """Wait until a session has made a step."""
    end = time.monotonic() + LIMIT
    while reader.read("state")["phase"] != Phase.RUNNING or not reader.read("state")["steps"]:
        if time.monotonic() > end:
            raise MeasurementFailed(f"the training did not start within {LIMIT:.0f} s")
        time.sleep(0.1)
        reader.follow()


def rate(reader: TelemetryReader, seconds: float, screen: Screen | None = None) -> float:
    """Return the steps per second of a window, in which the terminal is read."""
    before = reader.read("state")
    screen.read_for(seconds) if screen is not None else time.sleep(seconds)
    after = reader.read("state")
    return float((after["steps"] - before["steps"]) / (after["now"] - before["now"]))
