"""The table of workers, the speed, and the log of events."""

from __future__ import annotations

import re
import time

import numpy as np

from ...backends.system.segment import human_bytes
from ...envs.fields import Array
from ...training.telemetry.processes import ProcessRole
from ...training.telemetry.records import Level
from ...training.telemetry.snapshot import Snapshot, ViewRequest
from ..drawing.numbers import readable, spoken
from ..drawing.panels import Section, column, taken
from ..drawing.styles import BRIGHT, FAINT, GREEN, RED, SOFT, TEXT, YELLOW, Row, fit, styled
from .base import LinesView, ViewUpdate
from .curves import Curves
from .number_rows import hint
from .process_table import process_rows

LEVELS = {
    Level.INFO: ("info", SOFT),
    Level.GOOD: ("good", GREEN),
    Level.WARNING: ("warning", YELLOW),
    Level.ERROR: ("error", RED),
    Level.FATAL: ("fatal", RED),
}
SHARE = 0.6
FIRST = 6
FPS = "fps"
LEAST_CURVE = 10


class WorkersView(LinesView):
    """The table of workers, the speed, and the log of events."""

    ID = "workers"

    def __init__(self) -> None:
        super().__init__()
        self._first, self._count, self._curves = 0, 0, Curves()

    def request(self, env: int) -> ViewRequest:  # noqa: ARG002 - workers are not of one environment
        """Request the speed."""
        return ViewRequest(count=0, curves=(FPS,))

    @property
    def page(self) -> int:
        """Number of workers for which there is room above the events."""
        return max(1, int(self._lines.size.height * SHARE) - 3)

    def show(self, update: ViewUpdate) -> None:
        """Draw the panels; the speed only if there is room."""
        if not update.numbers:
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
            lambda width, height: event_rows(snapshot, width, height),
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
        lines.append([str(index), *map(readable, values)])
    count = next((at for at in range(len(wides), 0, -1) if sum(wides[:at]) <= width), 0)
    texts = ["".join(f"{cell:>{wide}}" for cell, wide in list(zip(line, wides, strict=True))[:count]) for line in lines]
    return [(styled(text, TEXT if at else FAINT),) for at, text in enumerate(texts)]


def event_rows(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """Return as many of the newest events as fit, the newest first."""
    rows: list[Row] = []
    for event in reversed(snapshot.events[-height:]):
        word, color = LEVELS[event.level]
        when = time.strftime("%H:%M:%S", time.localtime(event.time))
        named = event.env < 0 or re.search(rf"\benv {event.env + 1}\b", event.text)
        env = "" if named else f"{snapshot.description.env_title(event.env)}: "
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
