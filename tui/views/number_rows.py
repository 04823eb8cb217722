"""The numbers of a session as rows. Each function takes a snapshot and returns the rows of a panel."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from ...training.telemetry.metric_names import split_metric_name
from ...training.telemetry.snapshot import Snapshot
from ...training.units import first_of
from ..drawing.chart import Reals, columns_of, dots, front
from ..drawing.numbers import NA, age, decimal, percent, readable, steady, times, whole
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    CYAN,
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
    spread,
    styled,
    width_of,
)
from ..keys import shown

SPAN = 8


class Axis(NamedTuple):
    """The axis of both N and speedup: from `low` to `high`, linear or by doublings."""

    low: float
    high: float
    doubling: bool

    def place(self, values: Reals) -> Reals:
        """Return the places of values: 0 at the start of the axis and 1 at its end."""
        if not self.doubling:
            return (values - self.low) / (self.high - self.low)
        places: Reals = np.log2(np.maximum(values, self.low) / self.low) / np.log2(self.high / self.low)
        return places


def axis_of(counts: list[int], speedups: list[float]) -> Axis:
    """Return an axis that separates all of `counts`: by doublings if they span more than a factor of `SPAN`."""
    most = float(max(*counts, 2))
    if most <= SPAN * min(counts):
        return Axis(0.0, most, doubling=False)
    low = min(1.0, *(speedup for speedup in speedups if speedup > 0))
    return Axis(2.0 ** math.floor(math.log2(low)), most, doubling=True)


def against_ideal(counts: list[int], speedups: list[float], axis: Axis, width: int, height: int) -> list[Row]:
    """Return speedup over N as dots and a curve, drawn over the line of ideal speedup."""
    wide = width * front().wide
    line = np.linspace(0, 1, wide)
    ideal = np.where(np.arange(wide) % 4 == 0, line, np.nan)
    under = dots(ideal, ideal, (0.0, 1.0), height)
    across, along = axis.place(np.array(counts, float)), axis.place(np.array(speedups, float))
    low, high = columns_of(across, along, wide, (0.0, 1.0))
    over = dots(low, high, (0.0, 1.0), height)
    for one, other in zip(across.tolist(), along.tolist(), strict=True):
        x = min(width - 1, max(0, round(one * (width - 1))))
        y = min(height - 1, max(0, round((1 - other) * (height - 1))))
        over[y] = over[y][:x] + SIGNS.dot + over[y][x + 1 :]
    return [_overlaid(front, back) for front, back in zip(over, under, strict=True)]


def _overlaid(front: str, back: str) -> Row:
    """One row of two curves; the back one is visible where the front one is empty."""
    row, start = [], 0
    for at in range(1, len(front) + 1):
        if at == len(front) or (front[at] == " ") != (front[start] == " "):
            empty = front[start] == " "
            row.append(styled((back if empty else front)[start:at], FAINT if empty else ACCENT))
            start = at
    return tuple(row)


FAR = 9
"""Columns between a label and its number from which on they are hard to read together."""
SHOWN_ABOVE = {"fps", "sps", "return_mean", "length_mean"}
"""Metrics that other panels show."""
EPISODE_METRICS = ("return_mean", "length_mean", "return/", "length/", "rate/", "info/")
AGENT_RETURN = "agent_return"
"""The metric that `training/independent` has of each agent."""
ONLY_CURVES = re.compile(r"rate/|.*/p[159]0$")
"""Metrics that are shown only as curves: rates of ends, and quantiles."""
REPEATED = ("episode.r", "episode.l", "episode.t")
"""Scalars of `info` that are return, length and time: wrappers of scripts report them at the end of an episode."""
COLORS = {
    "environment": GREEN,
    "transport": YELLOW,
    "inference": ACCENT,
    "learner": MAGENTA,
    "python": ORANGE,
    "ranks": CYAN,
    "unaccounted": FAINT,
}
NAMES = {
    "environment": "environment",
    "transport": "transport wait",
    "inference": "inference",
    "learner": "learner",
    "python": "Python",
    "ranks": "other ranks",
    "unaccounted": "unaccounted",
}


class Entry(NamedTuple):
    """A number with its label, and its unit if it has one."""

    label: str
    value: str
    unit: str = ""
    color: str = TEXT
    bold: bool = False


def pair(entry: Entry, width: int, column: int = 0) -> Row:
    """Return a label on the left, and on the right a number with its unit in a column, joined by dots if far apart."""
    label, value, unit, color, bold = entry
    column = max(column, len(unit))
    room = max(0, width - column - bool(column))
    name = fit(label, max(0, room - len(value) - 1)).rstrip()
    gap = room - len(name) - len(value)
    dots = f" {'·' * (gap - 2)} " if gap > FAR else " " * max(0, gap)
    end = (styled(f" {'' if value == NA else unit:<{column}}", FAINT),) if column else ()
    number = styled(value, FAINT if value == NA else color, bold=bold)
    return (styled(name, SOFT), styled(dots, LINE), number, *end)


def pairs(entries: Sequence[Entry], width: int) -> list[Row]:
    """Return a row for each entry, with the numbers aligned."""
    column = max((len(entry.unit) for entry in entries), default=0)
    return [pair(entry, width, column) for entry in entries]


def throughput(snapshot: Snapshot, width: int, *, scaled: bool = True) -> list[Row]:
    """Frames and steps per second; if `scaled`, with speedup and efficiency, or how to measure them."""
    state, units = snapshot.state, snapshot.description.units
    limit = float(state["speed"])
    entries = speeds(snapshot)
    if not one_frame(snapshot):
        entries.append(Entry(units.sps, whole(float(state["sps"])), "/s"))
    if limit:
        entries.append(Entry("speed limit", whole(limit), units.sps, YELLOW))
    if scaled and shows_scaling(snapshot):
        entries += scales(snapshot)
        entries += [baseline_of(snapshot)] if snapshot.baseline_age is not None else []
    rows = pairs(entries, width)
    if snapshot.baseline is None and not snapshot.description.watched:
        advice = styled(f"press {shown('baseline')} to measure", FAINT)
        rows += [spread((styled(name, SOFT),), (advice,), width) for name in ("speedup", "efficiency")]
    return rows


def one_frame(snapshot: Snapshot) -> bool:
    """Return whether every step so far was one frame, so that both rates are the same."""
    return bool(snapshot.state["steps"] == snapshot.state["frames"] > 0)


def shows_scaling(snapshot: Snapshot) -> bool:
    """Return whether there is a speedup to show: one environment alone is the baseline."""
    return snapshot.baseline is not None and (snapshot.num_envs > 1 or len(snapshot.scaling) > 1)


def speeds(snapshot: Snapshot) -> list[Entry]:
    """Frames per second of all environments together and of each."""
    units, per_env = snapshot.description.units, snapshot.fps / max(1, snapshot.num_envs)
    return [
        Entry(f"{units.fps}(total)", whole(snapshot.fps), "/s", CYAN, bold=True),
        Entry(f"{units.fps}(per-{units.env})", decimal(per_env, 1), "/s"),
    ]


def scales(snapshot: Snapshot) -> list[Entry]:
    """Speedup and efficiency against the baseline."""
    moving = snapshot.fps > 0
    speedup, efficiency = (snapshot.speedup, snapshot.efficiency) if moving else (None, None)
    color = TEXT if efficiency is None else GREEN if efficiency >= 70 else YELLOW if efficiency >= 40 else ORANGE
    return [
        Entry("speedup", times(speedup).removesuffix("x"), "x" if speedup is not None else "", BRIGHT, bold=True),
        Entry("efficiency", percent(efficiency).removesuffix(" %"), "%" if efficiency is not None else "", color),
    ]


def baseline_of(snapshot: Snapshot) -> Entry:
    """The baseline, with its age if it is that of an earlier session."""
    old = snapshot.baseline_age
    return Entry("baseline" if old is None else f"baseline, {age(old)} old", whole(snapshot.baseline), "/s")


def scaling(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """Speedup and efficiency, the baseline, and the speedup at every measured N in `height` lines."""
    rows = pairs([*scales(snapshot), baseline_of(snapshot)], width)
    return [*rows, *scaling_curve(snapshot, width, height)]


def scaling_curve(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """Speedup at every measured N, with the ideal line."""
    baseline = snapshot.baseline or 0.0
    tried = [(item.num_envs, item.fps / baseline) for item in snapshot.scaling] if baseline else []
    if len(tried) < 2 or height < 3 or width < 16:
        return []
    counts, speedups = [count for count, _ in tried], [speedup for _, speedup in tried]
    axis = axis_of(counts, speedups)
    low, top = readable(axis.low), str(max(*counts, 2))
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


def ends_row(snapshot: Snapshot, width: int) -> list[Row]:
    """Return `✓ 3 cleared  ✗ 9 topped out` in one row; if that is too long, a row for each reason."""
    found = ends(snapshot)
    row: Row = ()
    for name, count, color in found:
        row = (*row, styled(f"{'  ' if row else ''}{sign_of(color)} {count:,} {name}", color))
    if width_of(row) <= width:
        return [row] if row else []
    return [pair(Entry(f"{sign_of(color)} {name}", whole(count), color=color), width) for name, count, color in found]


def sign_of(color: str) -> str:
    """Return the sign for the color of an outcome."""
    return {GREEN: SIGNS.good, RED: SIGNS.bad}.get(color, SIGNS.neutral)


def episodes(snapshot: Snapshot, width: int) -> list[Row]:
    """Episodes with their ends by reason, each with the sign that boards have, and length."""
    state = snapshot.state
    entries = [
        Entry("episodes", whole(float(state["episodes"])), color=BRIGHT),
        Entry("mean length", decimal(float(state["length_mean"]), 1)),
    ]
    first, *rest = pairs(entries, width)
    return [first, *ends_row(snapshot, width), *rest]


def shares(snapshot: Snapshot) -> list[tuple[str, float]]:
    """Return the seconds of the last window by phase, with the time outside all phases. The sum is the wall time."""
    left_out = {"wall", "steps"} if snapshot.description.ranks > 1 else {"wall", "steps", "ranks"}
    phases = [(name, float(seconds)) for name, seconds in snapshot.times.items() if name not in left_out]
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
        if height >= 2 * len(found) + 2:
            rows += [bar(seconds / wall, width, COLORS[name]), ()][: 2 if height > 3 * len(found) else 1]
    return rows


def known(snapshot: Snapshot) -> list[str]:
    """Return the names of the metrics, without those of episodes if there are none.

    Those of several learners are beside each other, with the returns first.
    """
    episodes = snapshot.description.units.episodes
    plain = {
        name: split_metric_name(name)[1]
        for name in snapshot.metrics
        if episodes or not name.startswith(EPISODE_METRICS)
    }
    places = {name: place for place, name in enumerate(dict.fromkeys((AGENT_RETURN, *plain.values())))}
    return sorted(plain, key=lambda name: places[plain[name]])


def learning(snapshot: Snapshot, width: int) -> list[Row]:
    """The trainer's metrics, in its order; of a metric that several learners report, the lowest and highest value."""
    above = {*SHOWN_ABOVE, first_of(snapshot.description.figures, snapshot.metrics).name}
    values: dict[str, list[float]] = {}
    for name in known(snapshot):
        if name not in above and not ONLY_CURVES.match(name):
            values.setdefault(split_metric_name(name)[1], []).append(snapshot.metrics[name])
    if not values:
        watched = snapshot.description.watched
        return hint("nothing was logged yet" if watched else "waiting for the first iteration", width)
    return pairs([Entry(name, _range(found)) for name, found in values.items()], width)


def _range(values: list[float]) -> str:
    """Return the lowest and the highest value, or one number if they look the same."""
    return " to ".join(dict.fromkeys(map(readable, (min(values), max(values)))))
