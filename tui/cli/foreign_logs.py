"""`pac-tui runs show PATH` for logs of other programs: their curves, or a list of the logs below a folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...envs import BadParameter
from ...envs.files import UnreadableFile
from ...training.exits import DONE, FAILED
from ...training.foreign.logs import ForeignLog, find_logs, read_log
from ...training.foreign.series import Log
from ...training.telemetry.snapshot import Curve
from ...training.units import RETURN
from ..drawing.numbers import readable, whole
from ..drawing.spark import sparkline
from .show import console, plain_table, show_json, show_table

READ_AT_ONCE = 20
"""Logs of a folder of which the return is shown, the newest ones."""


def show_logs(path: Path, *, json: bool) -> int:
    """Print the curves of the log in a file or folder, or a list of several; return the exit code."""
    logs = find_logs(path)
    if not logs:
        raise BadParameter(
            f"{path} is no run and has no logs that are known: expected event files of TensorBoard, run-ID.wandb, "
            "progress.csv, monitor.csv or metrics.csv"
        )
    return _show_one(logs[0], json=json) if len(logs) == 1 else _show_list(path, logs, json=json)


def _show_one(log: ForeignLog, *, json: bool) -> int:
    found = read_log(log.path)
    if json:
        return show_json({**_facts(log), "notice": found.notice, "curves": _curves(found)})
    console.print(f"{log.name}: {log.kind}, written {_when(log.when)}", markup=False)
    table = plain_table("curve", "points", "steps", "last", "")
    for name, points in found.points.items():
        curve = found.curves[name]
        values = _finite(curve)
        steps = whole(float(curve.steps[-1]))
        table.add_row(name, f"{points:,}", steps, readable(float(curve.values[-1])), sparkline(values))
    show_table(table)
    if found.notice:
        console.print(found.notice, markup=False)
    return DONE


def _show_list(path: Path, logs: list[ForeignLog], *, json: bool) -> int:
    if json:
        return show_json({"folder": str(path), "logs": [_facts(log) for log in logs]})
    table = plain_table("log", "from", "curves", RETURN.title, "", "written")
    wrong = []
    for number, log in enumerate(logs):
        cells = ("", "", "")
        if number < READ_AT_ONCE:
            try:
                cells = _cells(read_log(log.path))
            except UnreadableFile as error:
                wrong.append(str(error))
        table.add_row(log.name, log.kind, *cells, _when(log.when))
    show_table(table)
    for reason in wrong:
        console.print(reason, markup=False)
    return FAILED if len(wrong) == len(logs) else DONE


def _cells(found: Log) -> tuple[str, str, str]:
    """Return how many curves a log has, the last return, and its curve."""
    curve = found.curves.get(RETURN.name)
    values = _finite(curve) if curve is not None else []
    return f"{len(found.points)}", readable(values[-1]) if values else "", sparkline(values)


def _finite(curve: Curve) -> list[float]:
    values: list[float] = curve.values[np.isfinite(curve.values)].tolist()
    return values


def _facts(log: ForeignLog) -> dict[str, Any]:
    return {"name": log.name, "path": str(log.path), "kind": log.kind, "written": log.when}


def _curves(found: Log) -> Mapping[str, Any]:
    """Return the curves as JSON data."""
    return {
        name: {
            "points": points,
            "steps": found.curves[name].steps.tolist(),
            "seconds": found.curves[name].seconds.tolist(),
            "values": found.curves[name].values.tolist(),
        }
        for name, points in found.points.items()
    }


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
