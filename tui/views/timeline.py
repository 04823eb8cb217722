"""The timeline of the last steps: a lane for each thread, process and worker, with a cursor and a range."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.segment import Segment

from ...training.telemetry.records import Phase
from ...training.telemetry.snapshot import ViewRequest
from ...training.units import Units, plural
from ..drawing.numbers import duration, percent
from ..drawing.panels import BORDER, Section, column
from ..drawing.styles import (
    BRIGHT,
    FAINT,
    GREEN,
    GROUND,
    LINE,
    ORANGE,
    RED,
    SIGNS,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    blank,
    fit,
    mixed,
    styled,
    width_of,
)
from .base import LinesView, ViewUpdate
from .lanes import WAITS, colors_of
from .number_rows import hint
from .step_lanes import (
    LEAST_SPAN,
    NONE,
    SCRIPT,
    SHOWN_STEPS,
    Numbers,
    Picture,
    StepLane,
    called,
    letters_of,
    picture_of,
)

NAME = 14
STRIDE = 10
"""Columns of a label on the time axis, at least."""
WIDE_STEP, WIDE_ENV = 6, 2.0
"""Columns of a step from which on its end is marked, and of an environment's from which on it is drawn by itself."""
MOST_SLOW = 4
OF_SCRIPT = "of a script, threads and processes are known by their CPU time in each 20 ms, not when environments step"
FRAME, HIGH = 5, 24
"""Lines around the lanes, and lines from which on there is room for more below them."""
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
LEAST_WINDOW = 2e-6
MORE = "·"
"""Continues a phase whose letter or name is on the left."""


Cell: TypeAlias = tuple[object, str, str]
"""A column of a lane: what it belongs to, the text at its beginning, and its color."""


class TimelineView(LinesView):
    """Lanes of the last steps. It stands still while the session is paused, or as soon as the cursor is moved."""

    ID = "steps"

    def __init__(self) -> None:
        super().__init__()
        self._picture: Picture | None = None
        self._session: object = None
        self._held = False
        self._span = 0.0  # seconds that are shown; 0: a few steps
        self._end = math.nan  # the time at the right edge, while the picture is held
        self._cursor: float | None = None
        self._mark: float | None = None
        self._width = 1
        self._most = 1

    def request(self, env: int) -> ViewRequest:  # noqa: ARG002 - times are of all environments
        """Request what threads, processes and workers did last."""
        return ViewRequest(count=0, timeline=True)

    # -- what keys do -------------------------------------------------------------------------------------------------

    def zoom(self, by: int) -> None:
        """Show half the time, or twice as much if `by` is negative, around the cursor."""
        picture = self._picture
        if picture is None:
            return
        before, span = self._window(picture), self._shown_span(picture)
        self._span = min(max(LEAST_WINDOW, picture.end - picture.begin), max(LEAST_WINDOW, span * 0.5**by))
        if self._held and self._cursor is not None:
            share = (before[1] - self._cursor) / max(LEAST_SPAN, before[1] - before[0])
            self._end = self._cursor + share * self._span

    def move(self, columns: int) -> None:
        """Hold the picture, and move the cursor; at an edge, scroll."""
        picture = self._picture
        if picture is None:
            return
        begin, end = self._window(picture)
        if not self._held:
            self._held, self._end = True, end
        cell = (end - begin) / self._width
        at = (begin + end) / 2 if self._cursor is None else self._cursor + columns * cell
        self._cursor = at = min(picture.end, max(picture.begin, at))
        if at < begin + cell:
            self._end -= begin + cell - at
        elif at > end - cell:
            self._end += at - (end - cell)

    def go(self, direction: int) -> None:
        """Go to the oldest step if `direction` is negative, else follow the newest ones again."""
        if direction > 0:
            self.reset()
        elif self._picture is not None:
            self.move(-(10**9))

    def mark(self) -> None:
        """Begin a range at the cursor, or remove it; it ends where the cursor is."""
        if self._cursor is None:
            self.move(0)
        self._mark = self._cursor if self._mark is None else None

    def reset(self) -> bool:
        """Remove the range, then the cursor; return whether there was one."""
        if self._mark is not None:
            self._mark = None
            return True
        held, self._held, self._cursor = self._held, False, None
        return held

    def forget(self) -> None:
        """Forget what was shown: it is of another session."""
        self._picture, self._session, self._mark, self._cursor, self._held = None, None, None, None, False

    # -- what is drawn ------------------------------------------------------------------------------------------------

    def show(self, update: ViewUpdate) -> None:
        """Draw the lanes, and below them what there is room for."""
        if not update.numbers:
            return
        snapshot, (width, height) = update.snapshot, self._lines.size
        session = snapshot.generation, snapshot.description
        if session != self._session:
            self.forget()
            self._session = session
        if not self._held:
            self._picture = picture_of(snapshot) or self._picture
        picture, units = self._picture, snapshot.description.units
        if picture is None:
            rows = hint("waiting for the first steps", max(0, width - BORDER))
            empty = Section(f"Timeline of the last {plural(units.step)}", lambda *_: rows, fills=True)
            self._lines.show(column([empty], width, height))
            return
        self._width = max(1, width - BORDER - NAME)
        below = self._cursor_sections(picture, units)
        if height >= HIGH or not below:
            below = [self._slow_section(picture, units), *below]
        spare = height - sum(len(section.rows(width - BORDER, height)) + 2 for section in below)
        most = max(2, spare - FRAME)
        own = [lane for lane in picture.lanes if lane.worker == NONE][: max(1, most - 1)]
        workers = [lane for lane in picture.lanes if lane.worker != NONE]
        self._most = max(1, most - len(own))
        self._pages = max(1, -(-len(workers) // self._most))
        self._page = min(self._page, self._pages - 1)
        shown = [*own, *workers[self._page * self._most : (self._page + 1) * self._most]]
        state = "stands still: End follows" if self._held else "paused" if snapshot.phase is Phase.PAUSED else "follows"
        begin, end = self._window(picture)
        lanes = Section(
            f"Timeline of the last {plural(units.step)}",
            lambda *_: self._lanes(picture, shown, units),
            note=f"{duration(end - begin)}, {state}",
        )
        self._lines.show(column([lanes, *below], width, height))

    def _shown_span(self, picture: Picture) -> float:
        return self._span or max(LEAST_WINDOW, min(picture.end - picture.begin, SHOWN_STEPS * picture.step_seconds))

    def _window(self, picture: Picture) -> tuple[float, float]:
        end = self._end if self._held else picture.end
        return end - self._shown_span(picture), end

    def _lanes(self, picture: Picture, lanes: Sequence[StepLane], units: Units) -> list[Row]:
        begin, end = self._window(picture)
        edges = np.linspace(begin, end, self._width + 1)
        names = list(dict.fromkeys(phase for lane in picture.lanes for phase in lane.phases))
        colors, letters = colors_of(names), letters_of(names)
        cell = (end - begin) / self._width
        marked = picture.step_seconds > WIDE_STEP * cell
        waits = sum(lane.worker != NONE for lane in picture.lanes) > 1  # one worker waits for nobody
        inside = (picture.ends > begin) & (picture.ends <= end)
        places = np.minimum((picture.ends[inside] - begin) / cell, self._width - 1).astype(np.int64)
        rows = [self._axis(picture, begin, end)]
        for lane in lanes:
            at = places[picture.last[inside] == lane.worker] if marked and waits else places[:0]
            cells = _env_cells(lane, edges, picture, _phase_cells(lane, edges, colors, letters))
            rows.append((styled(fit(lane.name, NAME - 1), SOFT), blank(1), *_drawn(cells, set(at.tolist()))))
        if marked and (picture.slowest[inside] >= 0).any():
            rows.append(self._slowest(picture, places, inside, units))
        return [*rows, *_legend(names, colors, letters, self._width + NAME, marked=marked and waits)]

    def _axis(self, picture: Picture, begin: float, end: float) -> Row:
        """Return labels of the time before the newest span, with the cursor and the range."""
        size, unit = next((one for one in UNITS if end - begin >= 2 * one[0]), UNITS[-1])
        step = _round((end - begin) * STRIDE / self._width)
        line = [" "] * self._width
        first = math.ceil((begin - picture.end) / step)
        for number in range(first, first + self._width // STRIDE + 2):
            column = round((number * step + picture.end - begin) / (end - begin) * self._width)
            value = number * step / size
            text = f"│{value:.{max(0, -math.floor(math.log10(step / size) + 1e-9))}f}" if number else "│0"
            if 0 <= column <= self._width - len(text) - 3:
                line[column : column + len(text)] = text
        segments: list[Row] = []
        low, high = self._range() or (math.inf, -math.inf)
        edges = np.linspace(begin, end, self._width + 1)
        for index, letter in enumerate(line):
            here = self._cursor is not None and edges[index] <= self._cursor < edges[index + 1]
            ranged = low < edges[index + 1] and high >= edges[index]
            ground = LINE if ranged else GROUND
            if here:
                segments.append((styled(SIGNS.down, BRIGHT, ground=ground, bold=True),))
            else:
                segments.append((styled("=" if ranged and letter == " " else letter, FAINT, ground=ground),))
        head = (styled(fit(f"time, {unit}", NAME - 1), FAINT), blank(1))
        return (*head, *_joined(part for row in segments for part in row))

    def _slowest(self, picture: Picture, places: NDArray[np.int64], inside: NDArray[np.bool_], units: Units) -> Row:
        """Return the number of each step's slowest environment, below the end of the step."""
        line = [" "] * self._width
        for place, env in zip(places.tolist(), picture.slowest[inside].tolist(), strict=True):
            text = str(env + 1) if env >= 0 else ""
            start = max(0, place + 1 - len(text))
            if text and all(letter == " " for letter in line[max(0, start - 1) : start + len(text)]):
                line[start : start + len(text)] = text
        return (styled(fit(f"slowest {units.env}", NAME - 1), SOFT), blank(1), styled("".join(line), ORANGE, bold=True))

    def _range(self) -> tuple[float, float] | None:
        if self._mark is None or self._cursor is None:
            return None
        return min(self._mark, self._cursor), max(self._mark, self._cursor)

    def _slow_section(self, picture: Picture, units: Units) -> Section:
        rows: list[Row] = []
        for one in picture.slow:
            who = f"{units.environment} {one.env + 1}" if one.env >= 0 else f"worker {one.worker + 1}"
            times = f"{duration(one.seconds)} against {duration(one.usual)}"
            color = YELLOW if one.seconds > 2 * one.usual and one.share > 0.2 else TEXT
            shown = percent(100 * one.share)
            text = f"{who} is waited for in {shown} of {plural(units.step)}, {times} of the median"
            if len(text) > self._width + NAME:
                text = f"{who}: last in {shown} of {plural(units.step)}, {times} (median)"
            rows.append((styled(text, color),))
        envs = [row for row, one in zip(rows, picture.slow, strict=True) if one.env >= 0]
        workers = [row for row, one in zip(rows, picture.slow, strict=True) if one.env < 0]
        rows_shown = [*envs[: MOST_SLOW - bool(workers)], *workers[:1]]
        if not envs:
            watched = any(SCRIPT in lane.phases for lane in picture.lanes)
            text = OF_SCRIPT if watched else "environments are timed where a step of one takes 20 us or more in Python"
            rows_shown.append((styled(text, FAINT),))
        known = f"{picture.slow[0].of:,} {plural(units.step)} of the " if picture.slow else ""
        return Section("Waited for", lambda *_: rows_shown, note=f"{known}last 10 s")

    def _cursor_sections(self, picture: Picture, units: Units) -> list[Section]:
        if self._cursor is None:
            return []
        found = self._range()
        if found is not None and found[1] > found[0]:
            return [self._range_section(picture, *found, units)]
        parts = []
        for lane in picture.lanes:
            phase, seconds = lane.at(self._cursor)
            index = int(lane.envs_at(np.array([self._cursor]))[0])
            text = f"{lane.name}: {called(phase)} {duration(seconds)}" if phase else ""
            if text and index != NONE:
                spent = float(lane.env_end[index] - lane.env_begin[index])
                text += f" ({units.environment} {lane.envs[index] + 1} {duration(spent)})"
            parts.append(text)
        shown = [part for part in parts if part]
        rows: list[Row] = [(styled(text, TEXT),) for text in shown[:MOST_SLOW]]
        if len(shown) > MOST_SLOW:
            rows.append((styled(f"and {len(shown) - MOST_SLOW} more lanes", FAINT),))
        where = duration(picture.end - self._cursor)
        return [Section("Under the cursor", lambda *_: rows, note=f"{where} before the end; Enter begins a range")]

    def _range_section(self, picture: Picture, low: float, high: float, units: Units) -> Section:
        rows: list[Row] = []
        for lane in picture.lanes:
            shares = sorted(lane.shares(low, high).items(), key=lambda item: -item[1])
            text = "  ".join(f"{called(name)} {share:.1%}" for name, share in shares)
            if text and len(rows) < MOST_SLOW + 1:
                rows.append((styled(fit(lane.name, NAME - 1), SOFT), blank(1), styled(text, TEXT)))
        steps = int(((picture.ends > low) & (picture.ends <= high)).sum())
        note = f"{duration(high - low)}" + (f", {steps} {plural(units.step)}" if steps else "")
        return Section("Range", lambda *_: rows, note=note)


def _env_cells(lane: StepLane, edges: Numbers, picture: Picture, phases: list[Cell]) -> list[Cell]:
    """Return the columns of a worker by environment, where one steps; its phases if these are too narrow."""
    middle = (edges[1:] + edges[:-1]) / 2
    found = lane.envs_at(middle)
    used = found[found != NONE]
    if not len(used) or len(used) < WIDE_ENV * len(set(used.tolist())):
        return phases
    plain, other = mixed(GREEN, GROUND, 0.7), GREEN
    slowest = picture.slowest_of(lane.env_end)
    cells: list[Cell] = []
    for index, phase in zip(found.tolist(), phases, strict=True):
        env = int(lane.envs[index])
        color = ORANGE if slowest[index] == env else plain if env % 2 else other
        cells.append(phase if index == NONE else (index, str(env + 1), color))
    return cells


def _phase_cells(lane: StepLane, edges: Numbers, colors: Mapping[str, str], letters: Mapping[str, str]) -> list[Cell]:
    """Return the columns of a lane by phase."""
    texts = {phase: f"{letters[phase]}|{called(phase).partition(',')[0]}" for phase in lane.phases}
    return [(phase, texts.get(phase, " "), colors.get(phase, GROUND)) for phase in lane.cells(edges)]


def _drawn(cells: Sequence[Cell], marks: set[int]) -> Row:
    """Return cells with a text at the beginning of each run, and marks over them."""
    segments: list[Row] = []
    at = 0
    for (key, text, color), run in groupby(cells):
        count = len(list(run))
        letter, _, name = text.rpartition("|")
        if key in WAITS:
            shown, ink, ground = "─" * count, color, GROUND
        elif not text.strip():
            shown, ink, ground = " " * count, FAINT, GROUND
        else:
            label = name if len(name) <= count else letter
            shown, ink, ground = label[:count].ljust(count, MORE), GROUND, color
        for index, letter in enumerate(shown):
            if at + index in marks:
                segments.append((styled(_last(), RED, bold=True),))
            else:
                segments.append((styled(letter, ink, ground=ground),))
        at += count
    return _joined(part for row in segments for part in row)


def _last() -> str:
    """Return the mark of who was the last to arrive."""
    return "◀" if SIGNS.braille else "<"


def _joined(parts: Iterable[Segment]) -> Row:
    """Return neighboring segments of one style as one."""
    runs = groupby(parts, key=lambda segment: segment.style)
    return tuple(Segment("".join(segment.text for segment in run), style) for style, run in runs)


def _legend(
    names: Sequence[str], colors: Mapping[str, str], letters: Mapping[str, str], width: int, *, marked: bool
) -> list[Row]:
    row: Row = (blank(NAME),)
    for name in names:
        letter = "─" if name in WAITS else letters[name]
        key = styled(letter, colors[name]) if name in WAITS else styled(letter, GROUND, ground=colors[name])
        part = (key, styled(f" {called(name)}  ", FAINT))
        if width_of((*row, *part)) <= width:
            row = (*row, *part)
    end = (styled(_last(), RED, bold=True), styled(" last to arrive", FAINT))
    return [(*row, *end) if marked and width_of((*row, *end)) <= width else row]


def _round(value: float) -> float:
    """Return the next larger one of 1, 2, 5, 10 and so on."""
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= value * (1 - 1e-9))
