"""Measures the app: how much it slows down training, the time from a key press to the screen, and its startup time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from ..config import Config
from .facts import Progress, Results, summary_of
from .measured_process import MeasurementFailed
from .scaling import measure
from .terminal import COLUMNS, KEYS, LINES, app_on_terminal, drain, key_times, on_terminal, summary_of_keys
from .turns import alternate

SAMPLE = 0.25  # s between two measurements of the app's process
LIMIT = 90.0  # s in addition to the training time
PAUSE = 0.31  # s between two key presses, not a multiple of any period of the app


def app_cost(*, num_envs: int = 16, seconds: float = 20.0, pairs: int = 7, progress: Progress) -> Results:
    """Train alternately headless and with the app on a 200x60 terminal, which shows all boards.

    Returns:
        `ratio`: sps with the app divided by sps headless; `app_cpu` in % of a core; `app_rss`: peak in bytes.
    """
    sides: dict[str, Callable[[], Any]] = {
        "headless": lambda: measure(Config(num_envs=num_envs, seconds=seconds))["sps"],
        "with the app": partial(_with_app, num_envs, seconds),
    }
    plain, with_app = alternate(sides, pairs, progress).values()
    watched, cpu, rss = zip(*with_app, strict=True)
    return {
        "num_envs": num_envs,
        "seconds": seconds,
        "terminal": f"{COLUMNS}x{LINES}",
        "ratio": summary_of([one / other for one, other in zip(watched, plain, strict=True)]),
        "app_cpu": summary_of(cpu),
        "app_rss": {"max": max(rss), "median": median(rss)},
    }


def _with_app(num_envs: int, seconds: float) -> tuple[float, float, int]:
    """Return the sps, the app's CPU in % of a core while it showed boards, and its peak memory in bytes."""
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        report = Path(folder, "report.json")
        limits = ["--num-envs", str(num_envs), "--seconds", str(seconds), "--runs-dir", folder, "--report", str(report)]
        process, terminal = on_terminal([sys.executable, "-P", "-m", "pac.tui", "run", *limits])
        threading.Thread(target=drain, args=(terminal,), daemon=True).start()
        share, peak = _app_load(process, seconds)
        os.close(terminal)
        try:
            return float(json.loads(report.read_text())["sps"]), share, peak
        except ValueError:
            raise MeasurementFailed("the training with the app ended without a report; try pac-tui run") from None


def _app_load(process: subprocess.Popen[bytes], seconds: float) -> tuple[float, int]:
    """Return the app's CPU in % of a core, without the first quarter of its time, and its peak memory in bytes."""
    app, peak, samples = psutil.Process(process.pid), 0, []
    end = time.monotonic() + seconds + LIMIT
    try:
        while process.poll() is None and time.monotonic() < end:
            times = app.cpu_times()
            samples.append((time.monotonic(), times.user + times.system))
            peak = max(peak, app.memory_info().rss)
            time.sleep(SAMPLE)
    except psutil.NoSuchProcess:
        pass
    finally:
        process.kill()
        process.wait()
    first, last = samples[len(samples) // 4], samples[-1]
    return 100 * (last[1] - first[1]) / max(SAMPLE, last[0] - first[0]), peak


def key_latency(*, num_envs: int = 64, presses: int = 100, progress: Progress) -> Results:
    """Press keys during training and measure the time from each key to the last byte of the change on screen.

    Returns:
        `milliseconds`: minimum, median and maximum; `p95`; and the same `by_key`.
    """
    kinds = {
        **KEYS,
        "one environment more": ("]", f"num_envs={num_envs + 1} in"),
        "one environment less": ("[", f"num_envs={num_envs} in"),
    }
    progress("pressing keys", 0.0)
    with app_on_terminal(num_envs) as screen:
        screen.wait_for(" running ")
        times = key_times(screen, kinds, presses, pause=PAUSE)
    by_key = {kind: summary_of(values) for kind, values in times.items() if values}
    return {"num_envs": num_envs, **summary_of_keys(times), "by_key": by_key}


def start_up(*, repetitions: int = 5, progress: Progress) -> Results:
    """Measure the time in seconds from the start of the process to the first screen and to the first moving board."""
    screens, boards = [], []
    progress("starting the app", 0.0)
    for _ in range(repetitions):
        begin = time.perf_counter()
        with app_on_terminal(8) as screen:
            screen.wait_for("Summary")
            screens.append(time.perf_counter() - begin)
            screen.wait_for(" running ")
            boards.append(time.perf_counter() - begin)
    return {"repetitions": repetitions, "screen": summary_of(screens), "board": summary_of(boards)}
