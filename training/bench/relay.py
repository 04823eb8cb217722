"""A session shown through a relay: bytes per second, time from a key to the screen, and what the training loses.

pac-tui bench relay --json
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import psutil

from ..config import Config
from ..telemetry.blocks import TelemetryReader
from ..telemetry.records import Phase
from .facts import Figures, Progress, ratios_of, summary_of
from .measured_process import MeasurementFailed
from .scaling import training
from .terminal import Screen

TASK, NUM_ENVS = "drmario", 16
SIZE = 120, 40
KEYS = {"3": " Env 3/", "\t": " Env 4/", "t": "Time of a step by phase", "l": "Length, mean of 100", "0": "Throughput"}
"""Keys that open views, and what these draw."""
LIMIT = 120.0
PAUSE = 0.47
SETTLE = 2.0
"""Seconds after the app has connected or left before a window begins."""


def measure_relay(*, seconds: float = 8.0, rounds: int = 7, presses: int = 60, progress: Progress) -> Figures:
    """Show a training of 16 environments on a 120x40 terminal through a relay on this machine.

    Args:
        seconds: Seconds of each window with or without the remote viewer.
        rounds: Number of windows of each kind.
        presses: Number of key presses, each of which opens a view.
        progress: Called with the current measurement.

    Returns:
        `bits_per_second` that the relay sends; `p95` and `milliseconds` from a key to the screen; `ratio` of the steps
        per second with a remote viewer to those without.
    """
    config = Config(task=TASK, num_envs=NUM_ENVS, device="cpu", checkpoint_every=0)
    with training(config) as session:
        reader = TelemetryReader(session.directory)
        _wait_until_it_runs(reader)
        with_viewer, without, bits = [], [], []
        for number in range(rounds):
            progress("training speed", 0.7 * number / rounds)
            without.append(_rate(reader, seconds))
            with _remote(session.pid) as screen:
                screen.read_for(SETTLE)
                relay = _relay_of(session.pid)
                before, begun = relay.io_counters().write_chars, time.monotonic()
                with_viewer.append(_rate(reader, seconds, screen))
                sent = relay.io_counters().write_chars - before
                bits.append(8 * sent / (time.monotonic() - begun))
            time.sleep(SETTLE)
        progress("pressing keys", 0.7)
        with _remote(session.pid) as screen:
            times = sorted(_key_times(screen, presses))
        session.kill()
    return {
        "task": TASK,
        "num_envs": NUM_ENVS,
        "terminal": "x".join(map(str, SIZE)),
        "bits_per_second": summary_of(bits),
        "presses": presses,
        "milliseconds": summary_of(times),
        "p95": times[min(len(times) - 1, round(0.95 * len(times)))],
        "with_viewer": summary_of(with_viewer),
        "without": summary_of(without),
        **ratios_of(with_viewer, without),
    }


def _wait_until_it_runs(reader: TelemetryReader) -> None:
    end = time.monotonic() + LIMIT
    while reader.read("state")["phase"] != Phase.RUNNING or not reader.read("state")["steps"]:
        if time.monotonic() > end:
            raise MeasurementFailed(f"the training did not start within {LIMIT:.0f} s")
        time.sleep(0.1)
        reader.follow()


def _rate(reader: TelemetryReader, seconds: float, screen: Screen | None = None) -> float:
    """Return the steps per second of a window, in which the terminal is read."""
    before = reader.read("state")
    screen.read_for(seconds) if screen is not None else time.sleep(seconds)
    after = reader.read("state")
    return float((after["steps"] - before["steps"]) / (after["now"] - before["now"]))


@contextmanager
def _remote(pid: int) -> Iterator[Screen]:
    """Attach to a session through a relay, whose transport runs the command on this machine."""
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        transport = Path(folder) / "rsh"
        transport.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
        transport.chmod(0o700)
        program = f"{sys.executable} -m pac.tui"
        options = ["--rsh", str(transport), "--command", program, f"here:{pid}"]
        screen = Screen([sys.executable, "-m", "pac.tui", "attach", *options], SIZE)
        try:
            screen.wait_for(" running ")
            yield screen
        finally:
            screen.close(keys="qd")


def _relay_of(pid: int) -> psutil.Process:
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [])[-2:] == ["relay", str(pid)]:
            return process
    raise MeasurementFailed("the relay has ended")


def _key_times(screen: Screen, presses: int) -> Iterator[float]:
    """Open views in turn; yield the milliseconds from each key to the screen that shows it."""
    screen.press("l")
    screen.wait_for(KEYS["l"])  # the first curves appear after an iteration and an episode
    for key, text in islice(cycle(KEYS.items()), presses):
        screen.read_for(PAUSE)
        begun = time.perf_counter()
        screen.press(key)
        screen.wait_for(text, limit=10.0)
        yield 1000 * (time.perf_counter() - begun)
