"""Measures what watching costs: the same training with the app on a terminal and without, in turn."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path
from statistics import median

import psutil

from ...envs import PacError
from .facts import Figures, Progress, summed_up

COLUMNS, LINES = 200, 60
SAMPLE = 0.25  # s between two looks at the app's process
LIMIT = 90.0  # s on top of the training time


class MeasurementFailed(PacError):
    """What was to be measured did not run."""

    title = "Measurement failed"


def app_cost(*, num_envs: int = 16, seconds: float = 20.0, pairs: int = 7, progress: Progress) -> Figures:
    """Train with the app on a 200x60 terminal that shows every board, and headless, in turn.

    Returns:
        `ratio`: sps with the app over sps without, per pair; `app_cpu`: % of one core; `app_rss`: peak, in bytes.
    """
    ratios, cpu, rss = [], [], []
    for number in range(pairs):
        progress("headless", number / pairs)
        plain = _headless(num_envs, seconds)
        progress("with the app", (number + 0.5) / pairs)
        watched, share, peak = with_app(num_envs, seconds)
        ratios.append(watched / plain)
        cpu.append(share)
        rss.append(peak)
    progress("done", 1.0)
    return {
        "num_envs": num_envs,
        "seconds": seconds,
        "terminal": f"{COLUMNS}x{LINES}",
        "ratio": summed_up(ratios),
        "app_cpu": summed_up(cpu),
        "app_rss": {"max": max(rss), "median": median(rss)},
    }


def _command(num_envs: int, seconds: float, folder: str, *more: str) -> list[str]:
    options = ["--num-envs", str(num_envs), "--seconds", str(seconds), "--runs-dir", folder]
    return [sys.executable, "-m", "pac.tui", "run", *options, "--report", f"{folder}/report.json", *more]


def _headless(num_envs: int, seconds: float) -> float:
    """Return the sps of a training that nobody watches."""
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        command = _command(num_envs, seconds, folder, "--headless")
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds + LIMIT)
        if done.returncode:
            raise MeasurementFailed(f"the training that is measured failed:\n{done.stderr.strip()}")
        return _sps(folder)


def _sps(folder: str) -> float:
    try:
        return float(json.loads(Path(folder, "report.json").read_text())["sps"])
    except ValueError:
        raise MeasurementFailed("the training with the app ended without a report; try pac-tui run") from None


def with_app(num_envs: int, seconds: float) -> tuple[float, float, int]:
    """Return sps, the app's CPU in % of one core while it showed boards, and its peak memory in bytes."""
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        process, terminal = on_terminal(_command(num_envs, seconds, folder))
        threading.Thread(target=drain, args=(terminal,), daemon=True).start()
        share, peak = _watch(process, seconds)
        os.close(terminal)
        return _sps(folder), share, peak


def on_terminal(command: list[str]) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command on a terminal of its own; return its process and the terminal's other end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    return process, ours


def drain(terminal: int) -> None:
    """Read what the app draws, as a terminal does."""
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:
        pass  # the other end is closed: the app has ended


def _watch(process: subprocess.Popen[bytes], seconds: float) -> tuple[float, int]:
    """Return an app's CPU in % of one core, without the first quarter of its time, and its peak memory."""
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
        if process.poll() is None:
            process.kill()
        process.wait()
    first, last = samples[len(samples) // 4], samples[-1]
    return 100 * (last[1] - first[1]) / max(SAMPLE, last[0] - first[0]), peak
