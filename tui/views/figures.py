"""The numbers of a session as rows. Each function takes a snapshot and returns the rows of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from ...training.telemetry.snapshot import Snapshot
from ..drawing.chart import against_ideal, axis_of
from ..drawing.numbers import NA, decimal, figure, percent, steady, times, whole
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    FAINT,
    GREEN,
    GROUND,
    LINE,
    MAGENTA,
    ORANGE,
    RED,
    SIGNS,
    SOFT,
    TEXT,
    TONES,
    YELLOW,
    Row,
    bar,
    blank,
    fit,
    styled,
)

UNIT, LOW = 6, 24
EPISODE_METRICS = ("return_mean", "length_mean", "info/")
COLORS = {
    "environment": GREEN,
    "transport": YELLOW,
    "inference": ACCENT,
    "learner": MAGENTA,
    "python": ORANGE,
    "unaccounted": FAINT,
}
NAMES = {
    "environment": "environment",
    "transport": "transport wait",
    "inference": "inference",
    "learner": "learner",
    "python": "Python",
    "unaccounted": "unaccounted",
}


class Entry(NamedTuple):
    """A number with its label, and its unit if it has one."""

    label: str
    value: str
    unit: str = ""
    color: str = TEXT


def pair(label: str, value: str, unit: str, width: int, color: str = TEXT, *, column: int = UNIT) -> Row:
    """Return a label on the left, and on the right a number with its unit in a column."""
    room = max(0, width - column - 1)
    name = fit(label, max(0, room - len(value) - 1)).rstrip()
    return (
        styled(name, SOFT),
        blank(room - len(name) - len(value)),
        styled(value, FAINT if value == NA else color),
        styled(f" {unit:<{column}}", FAINT),
    )


def pairs(entries: Sequence[Entry], width: int) -> list[Row]:
    """Return a row for each entry. The column of the units is made narrow where labels would be cut otherwise."""
    widest = max((len(entry.label) + len(entry.value) for entry in entries), default=0)
    narrow = widest + UNIT + 2 > width
    column = max((len(entry.unit) for entry in entries), default=0) if narrow else UNIT
    return [pair(label, value, unit, width, color, column=column) for label, value, unit, color in entries]


def throughput(snapshot: Snapshot, width: int) -> list[Row]:
    """Frames and steps per second."""
    state, units = snapshot.state, snapshot.description.units
    limit = float(state["speed"])
    speed = [Entry("speed limit", whole(limit), units.sps, YELLOW)] if limit else []
    return pairs([*speeds(snapshot), Entry(units.sps, whole(float(state["sps"])), "/s"), *speed], width)


def speeds(snapshot: Snapshot) -> list[Entry]:
    """Frames per second of all environments together and of each."""
    units, per_env = snapshot.description.units, snapshot.fps / max(1, snapshot.num_envs)
    return [
        Entry(f"{units.fps}(total)", whole(snapshot.fps), "/s", BRIGHT),
        Entry(f"{units.fps}(per-{units.env})", decimal(per_env, 1), "/s"),
    ]


def scaling(snapshot: Snapshot, width: int) -> list[Row]:
    """Speedup and efficiency against the baseline."""
    moving = snapshot.fps > 0
    speedup, efficiency = (snapshot.speedup, snapshot.efficiency) if moving else (None, None)
    color = TEXT if efficiency is None else GREEN if efficiency >= 70 else YELLOW if efficiency >= 40 else ORANGE
    known = snapshot.baseline is not None
    return [
        pair("speedup", times(speedup).removesuffix("x"), "x" if speedup is not None else "", width, BRIGHT),
        pair("efficiency", percent(efficiency).removesuffix(" %"), "%" if efficiency is not None else "", width, color),
        pair("baseline", whole(snapshot.baseline), "/s" if known else "key B", width),
    ]


def scaling_curve(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """Speedup at every measured N, with the ideal line; without a baseline, how to measure it."""
    baseline = snapshot.baseline
    if baseline is None:
        one = snapshot.description.units.environment
        return hint(f"speedup and efficiency are relative to one {one}: press B to measure it", width)
    tried = [(item.num_envs, item.fps / baseline) for item in snapshot.scaling]
    if not tried or height < 3 or width < 16:
        return []
    counts, speedups = [count for count, _ in tried], [speedup for _, speedup in tried]
    axis = axis_of(counts, speedups)
    low, top = figure(axis.low), str(max(*counts, 2))
    gutter = len(top) + 2
    rows = against_ideal(counts, speedups, axis, width - gutter, height - 1)
    edge = {0: f"{top}x", len(rows) - 1: f"{low}x"}
    body: list[Row] = [
        (styled(f"{edge.get(y, ''):>{gutter - 1}}", FAINT), styled("│", LINE), *row) for y, row in enumerate(rows)
    ]
    name = f"N = {top}"
    return [*body, (blank(gutter), styled(low, FAINT), styled(name.rjust(width - gutter - len(low)), FAINT))]


def hint(sentence: str, width: int) -> list[Row]:
    """Return a sentence in a faint color, wrapped."""
    return [(styled(line, FAINT),) for line in wrapped(sentence, width)]


def wrapped(sentence: str, width: int) -> list[str]:
    """Return a sentence in lines of at most `width` columns. A longer word continues in the next line."""
    return wrap(" ".join(sentence.split()), max(1, width), break_on_hyphens=False)


def ends(snapshot: Snapshot) -> list[tuple[str, int, str]]:
    """Return how episodes ended: reason, number and colour; the first entry counts those without a reason."""
    counts = snapshot.outcomes
    named = [
        (name, count, TONES.get(tone, TEXT))
        for (name, tone), count in zip(snapshot.description.outcomes, counts[1:], strict=False)
        if count
    ]
    return [*named, *([("ended", counts[0], TEXT)] if counts and counts[0] and named else [])]


def ends_row(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """Return `3 cleared, 9 topped out` in one row; if that is too long, a row for each reason, or signs."""
    found = ends(snapshot)
    texts = [f"{count:,} {name}" for name, count, _ in found]
    if height < LOW and len({color for *_, color in found}) == len(found) > 1:
        texts = [f"{count:,}{sign_of(color)}" for _, count, color in found]
    if sum(2 + len(text) for text in texts) > width:
        return [pair(f"  {name}", whole(count), "", width, color) for name, count, color in found]
    parts = [styled(text, color) for text, (_, _, color) in zip(texts, found, strict=True)]
    commas = [segment for item in parts[:-1] for segment in (item, styled(", ", FAINT))]
    return [(styled("  "), *commas, *parts[-1:])] if found else []


def sign_of(color: str) -> str:
    """Return the sign for the color of an outcome."""
    return {GREEN: SIGNS.good, RED: SIGNS.bad}.get(color, SIGNS.neutral)


def episodes(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """Episodes with their ends by reason, return and length."""
    state = snapshot.state
    return [
        pair("episodes", whole(float(state["episodes"])), "", width, BRIGHT),
        *ends_row(snapshot, width, height),
        pair("return (100)", decimal(float(state["return_mean"])), "mean", width),
        pair("length (100)", decimal(float(state["length_mean"]), 1), "steps", width),
    ]


def shares(snapshot: Snapshot) -> list[tuple[str, float]]:
    """Return the seconds of the last window by phase, with the time outside all phases. The sum is the wall time."""
    phases = [(name, float(seconds)) for name, seconds in snapshot.times.items() if name not in {"wall", "steps"}]
    return [*phases, ("unaccounted", float(snapshot.times["wall"]) - sum(seconds for _, seconds in phases))]


def stacked(snapshot: Snapshot, width: int) -> Row:
    """Return all phases in one bar."""
    wall = float(snapshot.times["wall"])
    if wall <= 0 or width <= 0:
        return (styled("·" * max(0, width), LINE),)
    found = shares(snapshot)
    at = np.rint(np.cumsum([0.0, *(max(0.0, seconds) for _, seconds in found)]) / wall * width).astype(int)
    at = np.minimum(at, width)
    return tuple(
        styled(_label(name, int(end - begin)), GROUND, ground=COLORS[name], bold=True)
        for (name, _), begin, end in zip(found, at[:-1], at[1:], strict=True)
        if end > begin
    )


def _label(name: str, width: int) -> str:
    """A phase's name inside its part of the bar, if there is room for it."""
    return f" {NAMES[name]} ".ljust(width) if width >= len(NAMES[name]) + 2 else " " * width


def time_table(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """The time of a step by phase, with bars if there is room."""
    wall, steps = float(snapshot.times["wall"]), float(snapshot.times["steps"])
    if wall <= 0 or steps <= 0:
        return hint("waiting for the first 2 s", width)
    per_step = 1000 * snapshot.num_envs / steps
    found = shares(snapshot)
    rows: list[Row] = [stacked(snapshot, width), ()][: max(0, height - len(found))]
    for name, seconds in found:
        rows.append(
            (
                styled("■ ", COLORS[name]),
                styled(fit(NAMES[name], max(0, width - 20)), SOFT),
                styled(f"{steady(seconds * per_step, 3):>9}"),
                styled(" ms", FAINT),
                styled(f"{steady(100 * seconds / wall, 0):>4}"),
                styled(" %", FAINT),
            )
        )
        if height >= 3 * len(found) + 2:
            rows += [bar(seconds / wall, width, COLORS[name]), ()]
    return rows


def known(snapshot: Snapshot) -> list[str]:
    """Return the names of the metrics, without those of episodes if there are none."""
    if snapshot.description.units.episodes:
        return list(snapshot.metrics)
    return [name for name in snapshot.metrics if not name.startswith(EPISODE_METRICS)]


def learning(snapshot: Snapshot, width: int) -> list[Row]:
    """The trainer's metrics, in its order."""
    names = [name for name in known(snapshot) if name not in {"fps", "sps"}]
    if not names:
        return hint("waiting for the first iteration", width)
    return pairs([Entry(snapshot.metric_title(name), figure(snapshot.metrics[name])) for name in names], width)
