"""The memory of a session: its processes, what each part is for, a process over time, and the GPU."""

from __future__ import annotations

import numpy as np

from ...backends.system.segment import human_bytes
from ...training.memory import GPU_CURVES, Allocated, GpuUse, MemoryPart, MemoryUse, ProcessUse, Reals
from ..drawing.chart import Line, bounds, layered
from ..drawing.numbers import age, percent, whole
from ..drawing.styles import ACCENT, BRIGHT, FAINT, GREEN, RED, SOFT, TEXT, YELLOW, Row, bar, fit, fit_ends, styled

NAME, SIZE, RATE, LEFT = 14, 11, 15, 8
"""Columns of a process's name, of bytes, of its growth, and of the time until memory is full."""
PART, DETAIL = 25, 48
PLACES = {"session": "", "shared": "shared", "GPU": "GPU", "others": ""}
NO_GPU = "no GPU: NVML (NVIDIA's driver, nvidia-ml-py) knows none where this trains"
MOST_CURVE, LEAST_SPAN = 24, 0.05
"""Columns of a small curve, and the share of a process's memory that a curve spans at least."""
HALF, UNIT = 100, (" %", "", " MHz", " W")
"""From so many columns on, there is room for two panels side by side; units of the GPU's curves."""


def head_rows(use: MemoryUse, width: int) -> list[Row]:
    """Return the sum, the largest growth, and the heading of the processes."""
    one = use.growing
    grows = (styled("nothing grows all the time, by 0.5 MiB/min", GREEN),)
    if one is not None:
        text = f"{one.name} grows most: {per_minute(one.rate)}, alone full in {use.left(one)}"
        grows = (styled(text, YELLOW if use.left(one).endswith(" d") else RED, bold=True),)
    total = f"{human_bytes(use.used)} in all  {human_bytes(use.available)} of {human_bytes(use.total)} free  "
    columns = f"{'process':<{NAME}}{'own':>{SIZE}}{'shared':>{SIZE}}{'growth':>{RATE}}{'full in':>{LEFT}}  "
    heading = (styled(fit(columns + "over time", width), FAINT),)
    if len(total) + len(grows[0].text) <= width:
        return [(styled(total, TEXT), *grows), heading]
    return [(styled(total, TEXT),), grows, heading]


def process_row(use: MemoryUse, one: ProcessUse, width: int, *, selected: bool) -> Row:
    """Return a process: its own memory, what it shares, its growth, and a small curve."""
    color = RED if one is use.growing else BRIGHT if selected else TEXT
    room = width - NAME - 2 * SIZE - RATE - LEFT - 2
    curve = _sizes(one, min(room, MOST_CURVE), 1)[0] if room > 4 and len(one.sizes) > 1 else ()
    after = room - sum(len(segment.text) for segment in curve) - 2
    envs = (styled("  " + fit(one.envs, after), SOFT),) if after > 6 else ()
    return (
        styled(fit(one.name, NAME), color, bold=selected),
        styled(f"{human_bytes(one.own):>{SIZE}}{human_bytes(one.shared):>{SIZE}}", color),
        styled(f"{per_minute(one.rate):>{RATE}}", color if one.steady else SOFT),
        styled(f"{use.left(one):>{LEFT}}  ", color),
        *curve,
        *envs,
    )


def per_minute(rate: float) -> str:
    """Return a growth: `1.00 MiB/min`; `measuring` while it is unknown."""
    return "measuring" if np.isnan(rate) else f"{rate / 2**20:+.2f} MiB/min"


def part_rows(use: MemoryUse, width: int) -> list[Row]:
    """Return what each part of the memory is, the largest first."""
    largest = max((part.size for part in use.parts), default=0.0) or 1.0
    return [_part_row(part, largest, width) for part in sorted(use.parts, key=lambda part: -part.size)]


def _part_row(part: MemoryPart, largest: float, width: int) -> Row:
    room = max(0, width - PART - SIZE - 2)
    detail = ", ".join(filter(None, (PLACES.get(part.where, part.where), part.detail)))
    wide = max(0, room - DETAIL - 1) if room > DETAIL + 8 else 0
    shown = bar(part.size / largest, min(30, wide), ACCENT) if wide else ()
    return (
        styled(fit(part.name, PART), TEXT),
        styled(f"{human_bytes(part.size):>{SIZE}}  ", BRIGHT),
        styled(fit(detail, DETAIL if wide else room - 1) + " ", SOFT),
        *shown,
    )


def curve_rows(one: ProcessUse, width: int, height: int) -> list[Row]:
    """Return the own memory of a process over time, with its lowest and highest value."""
    if height < 2 or len(one.sizes) < 2:
        return []
    low, high = float(one.sizes.min()), float(one.sizes.max())
    span = f"{human_bytes(low)} to {human_bytes(high)} in the last {age(-float(one.seconds[0]))}"
    title = (styled(f"{one.name} (process {one.pid}) ", TEXT, bold=True), styled(span, SOFT))
    return [title, *_sizes(one, width, height - 1)]


def _sizes(one: ProcessUse, width: int, height: int) -> list[Row]:
    """Return the own memory over time; what is small beside the whole is drawn as small."""
    low, high = bounds(one.sizes, one.sizes)
    return _drawn(one.seconds, one.sizes, (low, max(high, low + LEAST_SPAN * float(one.sizes.max()))), width, height)


def _drawn(x: Reals, y: Reals, ends: tuple[float, float], width: int, height: int) -> list[Row]:
    across = (float(x[0]), float(x[-1]))
    return layered([Line(x, y, ACCENT)], across, ends, width, height) if len(x) > 1 else [()]


def gpu_rows(gpu: GpuUse | None, width: int, height: int) -> list[Row]:
    """Return the GPU over time, or why there is none, in one line."""
    if gpu is None:
        return [(styled(fit(NO_GPU, width), FAINT),)]
    low = gpu.throttled
    state = f"clock lowered: {', '.join(low)}" if low else f"clock lowered in {percent(100 * _share(gpu))} of the time"
    rows: list[Row] = [
        (styled(gpu.name, TEXT, bold=True), styled(f"  {state}", RED if low else YELLOW if _share(gpu) else SOFT))
    ]
    each = max(1, (height - 1) // len(GPU_CURVES))
    for name, unit, limit, values in zip(GPU_CURVES, UNIT, gpu.limits, gpu.curves, strict=True):
        known = ~np.isnan(values)
        if not known.any():
            rows.append((styled(f"{name:<12}", SOFT), styled("not known to NVML here", FAINT)))
            continue
        now = human_bytes(values[known][-1]) if not unit else whole(values[known][-1]) + unit
        most = (
            "" if np.isnan(limit) or unit == " %" else f" of {human_bytes(limit) if not unit else whole(limit) + unit}"
        )
        label = f"{name:<12}{now + most:<24}"
        seen = values[known]
        ends = bounds(seen, seen) if not unit or np.isnan(limit) else (0.0, limit)
        for at, row in enumerate(_drawn(gpu.seconds[known], seen, ends, max(1, width - len(label)), each)):
            rows.append((styled(label if at == 0 else " " * len(label), SOFT), *row))
    return rows


def _share(gpu: GpuUse) -> float:
    return float(gpu.lowered.mean()) if len(gpu.lowered) else 0.0


def line_row(one: Allocated, width: int, *, wide: int = 16) -> Row:
    """Return a line that has kept memory."""
    place = f"{one.file}:{one.line}"
    return (
        styled(f"{per_minute(one.rate):>{RATE}}{human_bytes(one.size):>{SIZE}}{one.objects:>9,}  ", TEXT),
        styled(fit(one.process, wide) + " ", SOFT),
        styled(fit_ends(place, max(1, width - RATE - SIZE - 12 - wide)), ACCENT),
    )
