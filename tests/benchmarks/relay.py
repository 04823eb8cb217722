"""Measures a session shown through a relay: bandwidth, time from a key press to the screen, and training speed.

python -m tests.benchmarks relay --json
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

import psutil

from pac.training.bench.facts import Progress, Results, summary_of
from pac.training.bench.measured_process import MeasurementFailed
from pac.training.bench.scaling import training
from pac.training.bench.terminal import KEYS, Screen, key_times, rate, summary_of_keys, wait_until_it_runs
from pac.training.bench.turns import compared
from pac.training.config import Config
from pac.training.relay.remote_session import RemoteSession, relay_command
from pac.training.session.control import SessionClient
from pac.training.telemetry.blocks import TelemetryReader

TASK, NUM_ENVS = "drmario", 16
SIZE = 120, 40
PROGRAM = f"{sys.executable} -m pac.tui"
PAUSE = 0.47
SETTLE = 2.0
"""Seconds after the app has connected or left before a window begins."""


def measure_relay(*, seconds: float = 8.0, rounds: int = 7, presses: int = 60, progress: Progress) -> Results:
    """Show a training of 16 environments on a 120x40 terminal through a relay on this machine.

    Args:
        seconds: Seconds of each window with or without the remote viewer.
        rounds: Number of windows of each kind.
        presses: Number of key presses, each of which opens a view.
        progress: Called with the current measurement.

    Returns:
        `bits_per_second` that the relay sends; `p95` and `milliseconds` from a key to the screen; `ratio` of the steps
        per second with a remote viewer to those without. Its app runs on the same cores; in `elsewhere` nothing draws
        what comes, as if the app ran on another machine. `cpu` has the shares of one core that relay and app use.
    """
    config = Config(task=TASK, num_envs=NUM_ENVS, device="cpu", checkpoint_every=0)
    with training(config) as session:
        reader = TelemetryReader(session.directory)
        wait_until_it_runs(reader)
        windows: dict[str, list[float]] = {side: [] for side in ("without", "with_viewer", "elsewhere")}
        bits, shares = [], []
        for number in range(rounds):
            progress("training speed", 0.7 * number / rounds)
            windows["without"].append(rate(reader, seconds))
            with _remote(session.pid) as screen:
                screen.read_for(SETTLE)
                relay = _relay_of(session.pid)
                used, sent, begun = _cpu(relay, screen.process), _written(relay), time.monotonic()
                windows["with_viewer"].append(rate(reader, seconds, screen))
                spent = time.monotonic() - begun
                bits.append(8 * (_written(relay) - sent) / spent)
                shares.append(
                    [(now - then) / spent for now, then in zip(_cpu(relay, screen.process), used, strict=True)]
                )
            with _read_only(session.pid):
                time.sleep(SETTLE)
                windows["elsewhere"].append(rate(reader, seconds))
            time.sleep(SETTLE)
        progress("pressing keys", 0.7)
        with _remote(session.pid) as screen:
            times = key_times(screen, KEYS, presses, pause=PAUSE)
        session.kill()
    return {
        "task": TASK,
        "num_envs": NUM_ENVS,
        "terminal": "x".join(map(str, SIZE)),
        "bits_per_second": summary_of(bits),
        **summary_of_keys(times),
        **compared(windows, "with_viewer", "without"),
        "elsewhere": compared(windows, "elsewhere", "without"),
        "cpu": dict(zip(("relay", "app"), map(median, zip(*shares, strict=True)), strict=True)),
    }


@contextmanager
def _transport() -> Iterator[str]:
    """Write a transport that runs the command on this machine; return its path."""
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        transport = Path(folder) / "rsh"
        transport.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
        transport.chmod(0o700)
        yield str(transport)


@contextmanager
def _remote(pid: int) -> Iterator[Screen]:
    """Attach to a session through a relay."""
    with _transport() as transport:
        options = ["--rsh", transport, "--command", PROGRAM, f"here:{pid}"]
        screen = Screen([sys.executable, "-P", "-m", "pac.tui", "attach", *options], SIZE)
        try:
            screen.wait_for(" running ")
            yield screen
        finally:
            screen.close(keys="qd")


@contextmanager
def _read_only(pid: int) -> Iterator[None]:
    """Receive what a relay sends to an app that shows all boards, and draw nothing."""
    with _transport() as transport:
        session = RemoteSession("here", relay_command("here", str(pid), rsh=transport, command=PROGRAM))
        session.start()
        try:
            with closing(SessionClient(session.directory)) as client:
                client.call("join", name="benchmark")
                client.call("look", count=NUM_ENVS)
                yield
        finally:
            session.close()


def _written(process: psutil.Process) -> int:
    return int(process.io_counters().write_chars)


def _cpu(*processes: psutil.Process) -> list[float]:
    """Return the seconds of CPU that each process has used."""
    return [sum(process.cpu_times()[:2]) for process in processes]


def _relay_of(pid: int) -> psutil.Process:
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [])[-2:] == ["relay", str(pid)]:
            return process
    raise MeasurementFailed("the relay has ended")
