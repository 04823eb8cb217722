"""The command `pac-tui memory`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import Any

from rich.text import Text

from ...backends.system.segment import human_bytes
from ...envs import BadParameter
from ...training.memory import GPU_CURVES, Allocations, GpuUse, MemoryUse, allocations_of, memory_use
from ...training.runs.sessions import find_session, ranks_of
from ...training.session.control import TIMEOUT, SessionClient
from ..drawing.numbers import whole
from ..views.memory import NO_GPU, PLACES, UNIT, per_minute
from .run import ProgressLine
from .show import console, plain_table, show_json, show_table

MOST_LINES = 15


def show_memory(name: str, runs_dir: Path, seconds: float | None, *, json: bool) -> int:
    """Print the memory of a session by process and by what it is for, and with `seconds` which lines allocate.

    Raises:
        BadParameter: No such session is running.
    """
    found = find_session(name, runs_dir)
    if not found.alive:
        raise BadParameter(f"{found.name} is not running any more: ask for its memory while it trains")
    lines = None
    with ExitStack() as stack:
        ranks = ranks_of(found)
        clients = {
            f"rank {one.rank} " * (len(ranks) > 1): stack.enter_context(
                closing(SessionClient(one.directory, TIMEOUT + (seconds or 0.0)))
            )
            for one in ranks
        }
        if seconds is not None:
            line = ProgressLine(silent=json)
            line.say(f"following the allocations of {found.name} for {seconds:.0f} s; it is slower meanwhile")
            lines = allocations_of(_asked(clients, "allocations", seconds=seconds))
            line.end()
        use = memory_use(_asked(clients, "memory"))
    if json:
        return show_json(_as_json(found.name, use, lines))
    _show(use)
    if lines is not None:
        _show_lines(lines)
    return 0


def _asked(clients: Mapping[str, SessionClient], command: str, **arguments: Any) -> dict[str, Any]:
    """Ask all ranks at once."""
    with ThreadPoolExecutor(len(clients)) as threads:
        calls = {prefix: threads.submit(client.call, command, **arguments) for prefix, client in clients.items()}
        return {prefix: call.result() for prefix, call in calls.items()}


def _show(use: MemoryUse) -> None:
    console.print(
        f"{human_bytes(use.used)} in all; {human_bytes(use.available)} of {human_bytes(use.total)} are free",
        markup=False,
    )
    if (one := use.growing) is not None:
        console.print(f"largest growth: {one.name}, {per_minute(one.rate)}: full in {use.left(one)}", markup=False)
    console.print()
    table = plain_table("process", "id", "own", "shared", "growth", "full in", "steps")
    for each in use.processes:
        numbers = (each.pid, human_bytes(each.own), human_bytes(each.shared), per_minute(each.rate), use.left(each))
        table.add_row(each.name, *(Text(str(number), justify="right") for number in numbers), each.envs)
    show_table(table)
    console.print()
    table = plain_table("what it is", "size", "how it comes about")
    for part in sorted(use.parts, key=lambda part: -part.size):
        detail = ", ".join(filter(None, (PLACES.get(part.where, part.where), part.detail)))
        table.add_row(part.name, Text(human_bytes(part.size), justify="right"), detail)
    show_table(table)
    console.print()
    for line in [NO_GPU] if use.gpu is None else _gpu_lines(use.gpu):
        console.print(line, markup=False)


def _gpu_lines(gpu: GpuUse) -> Iterator[str]:
    yield f"GPU: {gpu.name}, clock lowered now: {', '.join(gpu.throttled) or 'no'}"
    for name, unit, limit, values in zip(GPU_CURVES, UNIT, gpu.limits, gpu.curves, strict=True):
        known = [float(value) for value in values if not isnan(value)]
        if known:
            now, most = (human_bytes(each) if not unit else whole(each) + unit for each in (known[-1], max(known)))
            top = "" if isnan(limit) else f", limit {human_bytes(limit) if not unit else whole(limit) + unit}"
            yield f"  {name}: {now} now, {most} at most{top}"


def _show_lines(found: Allocations) -> None:
    console.print()
    table = plain_table(
        "growth", "bytes", "objects", "process", f"lines that have kept memory in {found.seconds:.0f} s"
    )
    for one in found.large[:MOST_LINES]:
        numbers = (per_minute(one.rate), human_bytes(one.size), f"{one.objects:,}")
        place = Text(f"{one.file}:{one.line}")
        table.add_row(*(Text(number, justify="right") for number in numbers), one.process, place)
    show_table(table)
    for name, text in found.silent.items():
        console.print(f"{name}: {text}", markup=False)
    console.print(f"\nCost: {found.price}. Memory that libraries take without Python is not seen.", markup=False)


def _as_json(run: str, use: MemoryUse, lines: Allocations | None) -> dict[str, Any]:
    growing = use.growing
    found: dict[str, Any] = {
        "run": run,
        "total": use.total,
        "available": use.available,
        "used": use.used,
        "largest_growth": None if growing is None else {"process": growing.name, "rate": growing.rate},
        "processes": [
            {
                "process": one.name,
                **{key: value for key, value in asdict(one).items() if key not in {"name", "seconds", "sizes"}},
                "rate": None if isnan(one.rate) else one.rate,
                "full_in": use.left(one),
                "curve": [[float(when), float(size)] for when, size in zip(one.seconds, one.sizes, strict=True)],
            }
            for one in use.processes
        ],
        "parts": [part._asdict() for part in use.parts],
        "gpu": None if use.gpu is None else _gpu_json(use.gpu),
    }
    if lines is not None:
        cost = {"before": None if isnan(lines.before) else lines.before, "during": lines.during, "bytes": lines.cost}
        found["lines"] = [one._asdict() for one in lines.lines]
        found |= {"seconds": lines.seconds, "cost": cost, "silent": dict(lines.silent)}
    return found


def _gpu_json(gpu: GpuUse) -> dict[str, Any]:
    rows = {
        name: [None if isnan(value) else float(value) for value in values]
        for name, values in zip(GPU_CURVES, gpu.curves, strict=True)
    }
    seconds = [float(when) for when in gpu.seconds]
    limits = [None if isnan(limit) else limit for limit in gpu.limits]
    lowered = [bool(each) for each in gpu.lowered]
    throttled = list(gpu.throttled)
    return {"name": gpu.name, "limits": limits, "throttled": throttled, "seconds": seconds, "lowered": lowered, **rows}
