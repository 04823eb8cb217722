"""Measures the app as a person meets it, on a terminal of its own: how long a key takes, and how long the start."""

from __future__ import annotations

import os
import select
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice

from ..training.bench.app_cost import MeasurementFailed, on_terminal
from ..training.bench.facts import Figures, summed_up

LIMIT = 120.0
REST = 0.31  # s between two presses, no multiple of any period of the app
CHUNK = 1 << 16


class Screen:
    """The app on a terminal, read as it draws."""

    def __init__(self, command: list[str]) -> None:
        self.process, self._terminal = on_terminal(command)

    def press(self, key: str) -> None:
        """Type."""
        os.write(self._terminal, key.encode())

    def wait_for(self, text: str, limit: float = LIMIT) -> None:
        """Read until `text` was drawn.

        Raises:
            MeasurementFailed: It was not drawn in time.
        """
        end, drawn, wanted = time.monotonic() + limit, b"", text.encode()
        while wanted not in drawn:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise MeasurementFailed(f"the app did not draw {text!r} within {limit:.0f} s")
            drawn = drawn[-len(wanted) :] + os.read(self._terminal, CHUNK)

    def drain(self, seconds: float) -> None:
        """Read for a while."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self._terminal], [], [], left)[0]:
                os.read(self._terminal, CHUNK)

    def close(self) -> None:
        """Quit, and let go of the terminal."""
        try:
            self.press("q\r")
            while os.read(self._terminal, CHUNK):
                pass
        except OSError:
            pass  # the app has closed its end
        self.process.wait()
        os.close(self._terminal)


@contextmanager
def app_on_terminal(num_envs: int, *more: str) -> Iterator[Screen]:
    """Run the app on a 200x60 terminal, over a training whose run is thrown away."""
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        options = ["--num-envs", str(num_envs), "--runs-dir", folder, *more]
        screen = Screen([sys.executable, "-m", "pac.tui", "run", *options])
        try:
            yield screen
        finally:
            screen.close()


def key_latency(*, num_envs: int = 64, presses: int = 100) -> Figures:
    """Press keys during training and time the screen: from the key to the last byte of what it changes.

    Returns:
        `milliseconds`: lowest, median and highest; `p95`; and the medians by kind of key.
    """
    kinds = {
        "open an environment": ("3", f" Env 3/{num_envs} "),
        "next environment": ("\t", f" Env 4/{num_envs} "),
        "timing": ("t", "Where the time of a step goes"),
        "learning": ("l", "Length, mean of 100"),
        "summary": ("0", "Throughput"),
        "one environment more": ("]", f"num_envs={num_envs + 1} in"),
        "one environment less": ("[", f"num_envs={num_envs} in"),
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    with app_on_terminal(num_envs) as screen:
        screen.wait_for(" running ")
        screen.drain(3.0)
        for kind, (key, text) in islice(cycle(kinds.items()), presses):
            begin = time.perf_counter()
            screen.press(key)
            screen.wait_for(text, limit=5.0)
            times[kind].append(1000 * (time.perf_counter() - begin))
            screen.drain(REST)
    every = sorted(value for values in times.values() for value in values)
    return {
        "num_envs": num_envs,
        "presses": presses,
        "milliseconds": summed_up(every),
        "p95": every[min(len(every) - 1, round(0.95 * len(every)))],
        "by_key": {kind: summed_up(values) for kind, values in times.items() if values},
    }


def start_up(*, repetitions: int = 5) -> Figures:
    """Time the start, from the process to the first screen and to the first moving board, in s."""
    screens, boards = [], []
    for _ in range(repetitions):
        begin = time.perf_counter()
        with app_on_terminal(8) as screen:
            screen.wait_for("Summary")
            screens.append(time.perf_counter() - begin)
            screen.wait_for(" running ")
            boards.append(time.perf_counter() - begin)
    return {"repetitions": repetitions, "screen": summed_up(screens), "board": summed_up(boards)}
