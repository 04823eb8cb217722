"""CSV files of Stable-Baselines3 (`progress.csv`, `monitor.csv`) and Lightning (`metrics.csv`)."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path

from ...envs.files import MIB, UnreadableFile, open_binary
from .series import AllSeries

NAMES = ("progress.csv", "monitor.csv", "metrics.csv")
STEPS = (
    *("time/total_timesteps", "total_timesteps", "global_step", "step", "steps", "timesteps", "Step"),
    *("time/iterations", "epoch"),
)
SECONDS = ("time/time_elapsed", "time_elapsed", "seconds", "wall_time", "created_at", "t")
MOST_LINE, MOST_BYTES, MOST_COLUMNS = MIB, 512 * MIB, 4096
EPISODES = {"r", "l", "t"}
"""Columns of a monitor's file, which has a line per episode."""


def is_table(name: str) -> bool:
    """Whether a file is such a table, by its name; `0.monitor.csv` is one of a vectorized environment."""
    return name in NAMES or name.endswith(".monitor.csv")


def read_table(path: Path, series: AllSeries) -> None:
    """Add the columns of a table.

    Raises:
        OSError: The file cannot be read.
        UnreadableFile: It is no such table.
    """
    with open_binary(path) as binary, TextIOWrapper(binary, "utf-8", errors="replace", newline="") as file:
        try:
            rows = csv.reader(_lines(file, path, series), strict=False)
            head = next((row for row in rows if row), [])
            if not 1 < len(head) <= MOST_COLUMNS or any(_is_number(cell) for cell in head):
                raise UnreadableFile(path, "its first line does not have the names of columns")
            _add_rows(head, rows, series)
        except csv.Error as error:
            raise UnreadableFile(path, f"it is no CSV: {error}") from None


def _lines(file: TextIOWrapper, path: Path, series: AllSeries) -> Iterator[str]:
    """Yield lines without comments, as a monitor's file begins with one."""
    read = 0
    while line := file.readline(MOST_LINE):
        read += len(line)
        if len(line) == MOST_LINE or read > MOST_BYTES:
            series.notice = f"{path.name} is read only to a limit: its lines or the file are too long"
            return
        if not line.startswith("#"):
            yield line.replace("\0", "")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _add_rows(head: Sequence[str], rows: Iterator[list[str]], series: AllSeries) -> None:
    by_episode = set(head) >= EPISODES
    at_step = next((head.index(name) for name in STEPS if name in head), None)
    at_seconds = next((head.index(name) for name in SECONDS if name in head), None)
    lengths = head.index("l") if by_episode else 0
    total = 0.0
    for number, row in enumerate(rows):
        values = [_value(cell) for cell in row[: len(head)]]
        if by_episode:
            length = values[lengths] if len(values) > lengths else None
            total += length if length is not None and math.isfinite(length) else 0.0
        given = values[at_step] if at_step is not None and at_step < len(values) else None
        step = total if by_episode else float(number) if given is None else given
        seconds = values[at_seconds] if at_seconds is not None and at_seconds < len(values) else None
        for index, value in enumerate(values):
            if value is not None and index not in {at_step, at_seconds} and math.isfinite(step):
                series.add(head[index].strip(), step, math.nan if seconds is None else seconds, value)


def _value(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
