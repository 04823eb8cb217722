"""The table of workers, the speed, and the log of events."""

from __future__ import annotations

import time

import numpy as np
from textual.app import ComposeResult

from ...backends.system.segment import human_bytes
from ...envs.fields import Array
from ...training.telemetry.processes import ProcessRole
from ...training.telemetry.records import Level
from ...training.telemetry.snapshot import Event, Snapshot, ViewRequest
from ...training.units import plural
from ..drawing.numbers import figure, percent, spoken, whole
from ..drawing.panels import Section, column, taken
from ..drawing.styles import BRIGHT, FAINT, GREEN, MAGENTA, RED, SOFT, TEXT, YELLOW, Row, fit, styled
from ..drawing.widgets import TextLines
from .base import BaseView, ViewUpdate
from .curves import Curves
from .figures import hint

LEVELS = {
    Level.INFO: ("info", SOFT),
    Level.GOOD: ("good", GREEN),
    Level.WARNING: ("warning", YELLOW),
    Level.ERROR: ("error", RED),
    Level.FATAL: ("fatal", RED),
}
STATES = {"ready": GREEN, "stepping": GREEN, "starting": YELLOW, "dead": MAGENTA, "hung": MAGENTA}
COLUMNS = (
    ("worker", 7),
    ("pid", 8),
    ("envs", 11),
    ("state", 9),
    ("steps/s", 10),
    ("heartbeat", 11),
    ("restarts", 10),
    ("cpu", 7),
    ("rss", 11),
)
SHARE = 0.6
FIRST = 6
LEAST_ERROR = 10
FPS = "fps"
LEAST_CURVE = 10
NARROW = tuple(column for column in COLUMNS if column[0] != "pid")
ROLE, DEVICE = ("process", 16), ("device", 9)
"""Columns that are shown where there are several roles; the first one instead of the number of the worker."""


class WorkersView(BaseView):
    """The table of workers, the speed, and the log of events."""

    def __init__(self) -> None:
        super().__init__(id="workers")
        self._first = 0
        self._count = 0
        self._lines, self._curves = TextLines(), Curves()

    def compose(self) -> ComposeResult:
        """A column of panels."""
        yield self._lines

    def request(self, env: int) -> ViewRequest:  # noqa: ARG002 - workers are not of one environment
        """Request the speed."""
        return ViewRequest(count=0, curves=(FPS,))

    @property
    def page(self) -> int:
        """Number of workers for which there is room above the events."""
        return max(1, int(self._lines.size.height * SHARE) - 3)

    def show(self, update: ViewUpdate) -> None:
        """Draw the panels; the speed only if there is room."""
        if not update.figures:
            return
        snapshot = update.snapshot
        self._count = len(snapshot.processes)
        self._first = max(0, min(self._first, self._count - self.page))
        shown = slice(self._first, self._first + self.page)
        table = Section(
            "Workers",
            lambda width, _: process_rows(snapshot, width, shown),
            note=f"{len(_workers(snapshot))} x {snapshot.state['backend']}{_memory(snapshot)}",
        )
        sections = [table]
        if not snapshot.description.units.episodes:
            load = Section("Load", lambda width, _: load_rows(snapshot, width, shown), note=imbalance(snapshot))
            sections.append(load)
        log = Section(
            "Events",
            lambda width, height: event_rows(snapshot.events, width, height),
            fills=True,
            note=str(len(snapshot.events)),
        )
        width, height = self._lines.size
        left = height - taken(sections, width, height)
        if left < 2 * LEAST_CURVE or FPS not in snapshot.curves:
            self._lines.show(column([*sections, log], width, height))
            return
        halves = ([self._curves.section(update, FPS)], left // 2), ([log], left - left // 2)
        below = [row for group, lines in halves for row in column(group, width, lines)]
        self._lines.show([*column(sections, width, height), *below])

    def turn_page(self, by: int) -> None:
        """Scroll the table of workers."""
        self._first = max(0, min(self._first + by * self.page, self._count - self.page))


def _workers(snapshot: Snapshot) -> Array:
    """Return the processes and threads that step environments."""
    workers: Array = snapshot.processes[snapshot.processes["role"] == ProcessRole.WORKER.encode()]
    return workers


def _memory(snapshot: Snapshot) -> str:
    """Return the memory of the worker processes per environment; an empty text if there are none."""
    workers = _workers(snapshot)
    taken = float(workers["rss"][workers["pid"] != snapshot.description.pid].sum())
    return f", {human_bytes(taken / snapshot.num_envs)} per {snapshot.description.units.environment}" if taken else ""


def process_rows(snapshot: Snapshot, width: int, shown: slice) -> list[Row]:
    """Return the table of the processes `shown`, with its heading; with their roles, if there are several."""
    processes, units = snapshot.processes, snapshot.description.units
    if not len(processes):
        owner = "script" if snapshot.description.watched else "session"
        return hint(units.translate(f"no workers: the environments run in the {owner}'s own process"), width)
    words = {"envs": plural(units.env), "steps/s": f"{plural(units.step)}/s"}
    columns = COLUMNS if width >= sum(wide for _, wide in COLUMNS) + 8 else NARROW
    if len(np.unique(processes["role"])) > 1:
        words["steps/s"] = "rate/s"
        columns = (ROLE, *columns[1:], DEVICE)
    elif units.env == "worker":  # one process may run several workers of a solver
        words["worker"] = "process"
    names = "".join(f"{words.get(name, name):>{wide}}" for name, wide in columns)
    room = width - len(names) - 2
    rows: list[Row] = [(styled(names + ("  last error" if room >= LEAST_ERROR else ""), FAINT),)]
    for record in processes[shown]:
        cells = _cells(record)
        error = _decoded(record["error"])
        rows.append(
            (
                *(
                    styled(
                        f"{fit(cells[name], wide - 1).rstrip():>{wide}}",
                        STATES.get(cells[name], TEXT) if name == "state" else TEXT,
                    )
                    for name, wide in columns
                ),
                styled("  " + fit(error, room).rstrip() if room >= LEAST_ERROR else "", RED),
            )
        )
    return rows


def _cells(record: np.void) -> dict[str, str]:
    """Return what the columns show of a process."""
    role, number = _decoded(record["role"]), str(record["index"] + 1)
    first, end = int(record["first_env"]), int(record["end_env"])
    return {
        "worker": number,
        "process": f"{role} {_decoded(record['name']) or number}",
        "pid": str(record["pid"]),
        "envs": f"{first + 1}-{end}" if end - first > 1 else str(end or ""),
        "state": _decoded(record["state"]),
        "steps/s": whole(record["rate"]),
        "heartbeat": f"{float(record['heartbeat']):.1f} s",
        "restarts": whole(int(record["restarts"])),
        "cpu": percent(float(record["cpu"])),
        "rss": human_bytes(float(record["rss"])),
        "device": _decoded(record["device"]),
    }


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")


def imbalance(snapshot: Snapshot) -> str:
    """Return the maximum over the mean of the first number that a solver's workers report."""
    rates = snapshot.info[:, 0] if snapshot.description.info else np.zeros(0)
    if not rates.sum():
        return ""
    return f"{spoken(snapshot.description.info[0])}: {rates.max() / rates.mean():.2f} max/mean"


def load_rows(snapshot: Snapshot, width: int, shown: slice) -> list[Row]:
    """Return the numbers that each worker of a solver reports of its last batch."""
    names = [spoken(name) for name in snapshot.description.info]
    wides = [FIRST, *(max(11, len(name) + 2) for name in names)]
    lines = [["worker", *names]]
    for index, values in list(enumerate(snapshot.info.tolist(), 1))[shown]:
        lines.append([str(index), *map(figure, values)])
    count = next((at for at in range(len(wides), 0, -1) if sum(wides[:at]) <= width), 0)
    texts = ["".join(f"{cell:>{wide}}" for cell, wide in list(zip(line, wides, strict=True))[:count]) for line in lines]
    return [(styled(text, TEXT if at else FAINT),) for at, text in enumerate(texts)]


def event_rows(events: tuple[Event, ...], width: int, height: int) -> list[Row]:
    """Return as many of the newest events as fit, the newest first."""
    rows: list[Row] = []
    for event in reversed(events[-height:]):
        word, color = LEVELS[event.level]
        when = time.strftime("%H:%M:%S", time.localtime(event.time))
        env = f"env {event.env + 1}: " if event.env >= 0 else ""
        rows.append(
            (
                styled(f"{when} ", FAINT),
                styled(f"{word:<8}", color),
                styled(
                    fit(env + event.text, max(0, width - 17)).rstrip(), BRIGHT if event.level >= Level.WARNING else TEXT
                ),
            )
        )
    return rows or hint("nothing has happened yet", width)
