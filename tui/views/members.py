"""All sessions of a group on one page: a line each, their sums, phases and returns side by side, workers by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.segment import Segment

from ...backends.system.segment import human_bytes
from ...envs.unknown import is_unknown
from ...training.telemetry.declared import decoded
from ...training.telemetry.processes import ProcessRole
from ...training.telemetry.snapshot import Snapshot
from ...training.units import RETURN
from ..connections.session_group import SeenSession, slowest
from ..curve_options import CurveOptions
from ..drawing.chart import Line, chart
from ..drawing.numbers import NA, clock, decimal, percent, whole
from ..drawing.panels import Section, column
from ..drawing.styles import (
    BRIGHT,
    CYAN,
    FAINT,
    GREEN,
    MAGENTA,
    ORANGE,
    RED,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    fit,
    styled,
    width_of,
)
from .base import LinesView, ViewUpdate
from .curves import has_points, lines_of, plot_of
from .header_footer import PHASES
from .number_rows import COLORS, NAMES, hint, shares, stacked
from .status_message import HEADS

NAME, MARK = 12, "  slowest"
COLUMNS = {"state": 10, "N": 8, "steps/s": 11, "waits": 8, "steps": 12, "episodes": 10, "return": 13, "cpu": 8}
MORE = {"rss": 10, "time": 9, "process": 9, "node": 18}
LEFT_OUT = ("node", "process", "time", "rss", "episodes", "cpu", "N", "return", "steps")
"""Columns that are left out where there is no room for them, the first one first."""
FIXED = 13
"""Lines of the page besides those of the sessions, of which each has two."""
LEAST_CURVE = 8
CURVES = (GREEN, MAGENTA, ORANGE, YELLOW, CYAN, RED)


class MembersView(LinesView):
    """A table of all sessions with their sums, bars of their phases, and their workers by node."""

    ID = "members"

    def show(self, update: ViewUpdate) -> None:
        """Draw the panels."""
        if not update.numbers:
            return
        width, height = self._lines.size
        members, room = update.members, max(1, (height - FIXED) // 2)
        self._pages = max(1, -(-len(members) // room))
        self._page = min(self._page, self._pages - 1)
        here = range(self._page * room, min(len(members), (self._page + 1) * room))
        ranks = all(member.snapshot is None or member.snapshot.description.ranks > 1 for member in members)
        what, apart = "ranks" if ranks else "sessions", FIXED + 3 * len(here) + LEAST_CURVE <= height
        sections = [
            Section(f"All {what}", lambda wide, _: member_rows(members, here, update.selected, wide)),
            Section("Time of a step by phase", lambda wide, _: phase_rows(members, here, wide, apart=apart)),
            Section("Workers by node", lambda wide, _: node_rows(members, wide), note=f"{len(members)} {what}"),
            *returns(members, here),
        ]
        self._lines.show(column(sections, width, height))


def member_rows(members: Sequence[SeenSession], here: Sequence[int], selected: int, width: int) -> list[Row]:
    """Return the table of the sessions `here`, with the sums of all of them; the slowest rank is marked."""
    names = [*COLUMNS, *MORE]
    wides = COLUMNS | MORE
    label = min(40, max(NAME, *(len(member.label) + 2 for member in members)))
    for name in LEFT_OUT:
        if label + sum(wides[one] for one in names) + len(MARK) > width:
            names.remove(name)
    label = min(label, max(NAME, width - sum(wides[name] for name in names) - len(MARK)))
    slow = slowest(members)
    rows: list[Row] = [(styled(" " * label + "".join(f"{name:>{wides[name]}}" for name in names), FAINT),)]
    for index in here:
        member, marked = members[index], index == slow
        cells = _cells(member)
        color = YELLOW if marked else BRIGHT if index == selected else TEXT
        cut = "".join(f"{fit(cells[name], wides[name] - 1).rstrip():>{wides[name]}}" for name in names)
        state = PHASES[member.snapshot.phase][0] if member.snapshot is not None else FAINT
        line = (styled(fit(member.label, label - 1), color, bold=index == selected), styled(" "))
        at = wides["state"]
        rows.append((*line, styled(cut[:at], state), styled(cut[at:], color), styled(MARK if marked else "", YELLOW)))
    sums = _sums(members)
    cut = "".join(f"{sums.get(name, ''):>{wides[name]}}" for name in names)
    return [*rows, (styled(fit("sum", label), BRIGHT, bold=True), styled(cut, BRIGHT, bold=True))]


def _cells(member: SeenSession) -> dict[str, str]:
    snapshot = member.snapshot
    if snapshot is None:
        return dict.fromkeys((*COLUMNS, *MORE), "") | {"state": "ended" if member.over else "starting"}
    state, system = snapshot.state, snapshot.system
    lost = member.over and not snapshot.phase.over
    waiting = member.waiting
    return {
        "state": "lost" if lost else PHASES[snapshot.phase][1],
        "N": whole(snapshot.num_envs),
        "steps/s": whole(float(state["sps"])),
        "waits": NA if waiting is None else percent(100 * waiting),
        "steps": whole(float(state["steps"])),
        "episodes": whole(float(state["episodes"])),
        "return": decimal(float(state["return_mean"])),
        "cpu": percent(float(system["cpu"])) if float(system["pulse"]) else NA,
        "rss": human_bytes(float(system["rss"])) if float(system["pulse"]) else NA,
        "time": clock(float(state["training_seconds"])),
        "process": str(snapshot.description.pid),
        "node": member.machine,
    }


def _sums(members: Sequence[SeenSession]) -> dict[str, str]:
    """Return the sums of all sessions; rates, load and memory are those of sessions that run."""
    seen = [member.snapshot for member in members if member.snapshot is not None]
    alive = [member.snapshot for member in members if member.snapshot is not None and not member.over]
    means = [float(one.state["return_mean"]) for one in seen if not is_unknown(one.state["return_mean"])]
    same = len({one.description.task for one in seen}) == 1
    return {
        "N": whole(sum(one.num_envs for one in alive)),
        "steps/s": whole(total_rate(members)),
        "steps": whole(sum(float(one.state["steps"]) for one in seen)),
        "episodes": whole(sum(float(one.state["episodes"]) for one in seen)),
        "return": f"mean {decimal(float(np.mean(means)))}" if means and same else "",
        "cpu": percent(sum(float(one.system["cpu"]) for one in alive)),
        "rss": human_bytes(sum(float(one.system["rss"]) for one in alive)),
    }


def total_rate(members: Sequence[SeenSession]) -> float:
    """Return the steps per second of all sessions that run, together."""
    rates = [float(one.snapshot.state["sps"]) for one in members if one.snapshot is not None and not one.over]
    return float(np.nansum(rates))


def phase_rows(members: Sequence[SeenSession], here: Sequence[int], width: int, *, apart: bool = False) -> list[Row]:
    """Return a bar of the phases for each of the sessions `here`, and a line that explains the colors.

    One that does not train has what it does, or its error, in place of the bar. Bars are `apart` with a line between.
    """
    label = min(width // 3, max(NAME, *(len(members[index].label) + 2 for index in here)))
    rows: list[Row] = []
    phases: dict[str, None] = {}
    for index in here:
        snapshot = members[index].snapshot
        name = styled(fit(members[index].label, label), SOFT)
        if apart and rows:
            rows.append(())
        if snapshot is None or snapshot.phase in HEADS or float(snapshot.times["wall"]) <= 0:
            said = snapshot.message if snapshot is not None and snapshot.phase in HEADS else ""
            rows.append((name, *hint(said or "waiting for the first 2 s", width - label)[0]))
            continue
        phases |= dict.fromkeys(phase for phase, _ in shares(snapshot))
        rows.append((name, *stacked(snapshot, width - label)))
    legend: Row = ()
    for phase in phases:
        part = (styled("■ ", COLORS[phase]), styled(f"{NAMES[phase]}  ", FAINT))
        if width_of((*legend, *part)) <= width:
            legend = (*legend, *part)
    return [*rows, legend]


def returns(members: Sequence[SeenSession], here: Sequence[int]) -> list[Section]:
    """Return a panel with the curve of the return of each of the sessions `here`; none before there is a curve."""
    lines: list[Line] = []
    legend: list[Segment] = []
    for index in here:
        member = members[index]
        if member.snapshot is None or not has_points(member.snapshot.curves.get(RETURN.name)):
            continue
        color = CURVES[len(lines) % len(CURVES)]
        lines.append(lines_of(member.snapshot, RETURN.name, CurveOptions())[0]._replace(color=color))
        legend += [styled("  ■ ", color), styled(member.label, FAINT)]
        first = member.snapshot
    if not lines:
        return []
    plot = plot_of(first, RETURN.name, CurveOptions())
    return [
        Section(
            f"{RETURN.title}, {RETURN.note}",
            lambda width, height: chart(lines, width, height, plot).rows,
            fills=True,
            note=tuple(legend),
            least=LEAST_CURVE,
        )
    ]


class WorkersOfNode(NamedTuple):
    """What the sessions have on a machine."""

    sessions: set[int]
    workers: int
    envs: int
    cpu: float
    rss: float
    restarts: int


def nodes(members: Sequence[SeenSession]) -> dict[str, WorkersOfNode]:
    """Return the workers of all sessions by the machine they run on; sessions count where they run themselves."""
    found: dict[str, WorkersOfNode] = {}
    for index, member in enumerate(members):
        if member.snapshot is None or member.over:
            continue
        home = member.machine or "this machine"
        _add(found, home, index, member.snapshot)
    return found


def _add(found: dict[str, WorkersOfNode], home: str, index: int, snapshot: Snapshot) -> None:
    empty = WorkersOfNode(set(), 0, 0, 0.0, 0.0, 0)
    workers = snapshot.processes[snapshot.processes["role"] == ProcessRole.WORKER.encode()]
    places = [decoded(one) or home for one in workers["device"].tolist()]
    before = found.get(home, empty)
    own = 0 if len(workers) else snapshot.num_envs
    found[home] = before._replace(sessions=before.sessions | {index}, envs=before.envs + own)
    for place, worker in zip(places, workers, strict=True):
        node = found.get(place, empty)
        found[place] = node._replace(
            workers=node.workers + 1,
            envs=node.envs + int(worker["end_env"]) - int(worker["first_env"]),
            cpu=node.cpu + float(worker["cpu"]),
            rss=node.rss + float(worker["rss"]),
            restarts=node.restarts + int(worker["restarts"]),
        )


def node_rows(members: Sequence[SeenSession], width: int) -> list[Row]:
    """Return the table of machines."""
    found = nodes(members)
    if not found:
        return hint("no session runs", width)
    label = min(max(NAME, *(len(name) + 2 for name in found)), max(NAME, width - 60))
    heads = f"{'sessions':>10}{'workers':>9}{'envs':>9}{'cpu':>9}{'rss':>11}{'restarts':>10}"
    rows: list[Row] = [(styled(" " * label + heads, FAINT),)]
    for name, node in found.items():
        numbers = (
            f"{len(node.sessions):>10}{node.workers:>9}{whole(node.envs):>9}{percent(node.cpu):>9}"
            f"{human_bytes(node.rss):>11}{node.restarts:>10}"
        )
        rows.append((styled(fit(name, label), SOFT), styled(numbers, TEXT)))
    return rows
