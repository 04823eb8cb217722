"""`pac-tui run --seeds`: several trainings of one command, a screen or lines of progress, and a table at the end."""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ...training.exits import DONE, FAILED, INTERRUPTED
from ...training.grid import queue as queued
from ...training.grid.plan import choices, planned, seeds_of
from ...training.grid.queue import GridQueue, GridRun
from ...training.runs.overview import LIVE
from ...training.runs.sessions import ConnectedSession, read_session
from ...training.units import STEPPED
from ..drawing.numbers import clock, readable
from ..terminal.modes import check_terminal
from ..terminal.output import json_text
from ..terminal.report_file import check_writable, write_report
from ..trust import asking
from .flags import Flags
from .run import SIGNALS, ProgressLine
from .show import console, plain_table, show_table

if TYPE_CHECKING:
    from ..grid.results import Seen

PAUSE = 0.2


def is_grid(flags: Flags | None, seeds: str | None) -> bool:
    """Whether a command asks for several trainings."""
    return seeds is not None or (flags is not None and bool(choices(flags.given())))


def run_grid(
    flags: Flags | None, seeds: str | None, *, parallel: int | None, headless: bool, json: bool, report: Path | None
) -> int:
    """Train all combinations; return the exit code: 0 if all were completed, 1 if one failed, 130 if interrupted."""
    if report is not None:
        check_writable("--report", report)
    if not headless:
        check_terminal()
    flags = flags or Flags()
    numbers = seeds_of(seeds) if seeds is not None else ()
    name, members = planned(flags.given(), numbers, file=flags.config, vouch=asking(trust=flags.trust))
    queue = GridQueue(members, parallel)
    queue.start()
    try:
        if headless:
            _follow(queue)
        else:
            _show(name, queue)
    finally:
        _end(queue)
    return _report(name, queue, json=json, report=report)


@contextmanager
def _signals(queue: GridQueue) -> Iterator[None]:
    """Pass signals on: the first one has all runs saved and ended, the second one ends them at once."""
    before = {number: signal.signal(number, lambda *_: queue.stop()) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _follow(queue: GridQueue) -> None:
    """Show lines about runs, and how far all are."""
    line, begun, before = ProgressLine(), time.monotonic(), 0.0
    told: set[str] = set()
    with _signals(queue):
        over = False
        while not over:
            over = queue.wait(PAUSE)
            shares = [run.progress(run.overview()) for run in queue.runs]
            for run in queue.runs:
                if run.state in queued.OVER and run.member.name not in told:
                    told.add(run.member.name)
                    line.event(f"{run.member.name}: {run.error or run.state}")
            live = sum(run.state == LIVE for run in queue.runs)
            done = sum(run.state in queued.OVER for run in queue.runs)
            share = sum(share for share in shares if math.isfinite(share)) / len(shares)
            before = before or share
            passed = time.monotonic() - begun
            left = f", about {clock(passed * (1 - share) / (share - before))} left" if share > before + 0.01 else ""
            line.say(f"{done} of {len(shares)} runs done, {live} training, {share:.0%}{left}")
    line.end()


def _show(name: str, queue: GridQueue) -> None:
    """Show the screen until all runs have ended or the user leaves; runs that the user chooses have the app."""
    from ..connections.connection import SessionConnection
    from ..drawing.theme import match_terminal
    from ..grid.screen import GridApp
    from ..starting.launch import show_app
    from ..terminal.modes import borrowed_terminal

    selected = ""
    while not queue.over:
        with borrowed_terminal():
            match_terminal()
            app = GridApp(name, queue, selected)
            app.run()
        run = app.chosen
        if run is None:
            return
        selected = run.member.name
        session = session_of(run)
        if session is not None:  # else it has ended meanwhile, and the list says so
            show_app(SessionConnection(lambda session=session: session, "elsewhere"))  # type: ignore[misc]


def session_of(run: GridRun) -> ConnectedSession | None:
    """Return the session that trains a run, whatever the names of others; None if none does."""
    process = run.session
    found = read_session(process.directory, process.pid, alive=True) if process is not None else None
    return ConnectedSession(found) if found is not None else None


def _end(queue: GridQueue) -> None:
    """Have the runs saved and ended that are still trained."""
    if queue.over:
        return
    print("saving and stopping the runs...", file=sys.stderr, flush=True)
    queue.stop()
    with _signals(queue):
        while not queue.wait(PAUSE):
            pass


def _report(name: str, queue: GridQueue, *, json: bool, report: Path | None) -> int:
    from ..grid.results import Seen, facts_of

    seen = [Seen(run, run.overview()) for run in queue.runs]
    facts = facts_of(name, seen)
    if json:
        print(json_text(facts))
    else:
        _print_tables(name, seen)
    code = write_report(report, facts) if report is not None else DONE
    states = {run.state for run in queue.runs}
    if queued.FAILED in states:
        return FAILED
    if states == {queued.COMPLETED}:
        return code
    if not json:
        console.print(f"\nThe same command with --name {quote(name)} continues.", markup=False)
    return INTERRUPTED


def _print_tables(name: str, seen: list[Seen]) -> None:
    from ..grid.results import goal_of, groups_of, spread

    goal, units = goal_of(seen), next((one.found.units for one in seen if one.found is not None), STEPPED)
    table = plain_table("run", goal.title, "best", units.counted, "time", "state")
    for one in seen:
        row, best = one.row, one.found.best if one.found is not None else None
        table.add_row(
            one.run.member.name,
            *(readable(value) if value is not None else "" for value in (one.last, best)),
            f"{int(row[units.over]):,}" if units.over in row else "",
            clock(float(row["seconds"])) if "seconds" in row else "",
            one.run.error or one.run.state,
        )
    show_table(table)
    console.print()
    table = plain_table(name, "seeds", f"{goal.title}, mean", "deviation", "lowest", "highest")
    for group in groups_of(seen):
        found = spread(group)
        values = (found[key] for key in ("mean", "deviation", "lowest", "highest"))
        numbers = [readable(value) if value is not None else "" for value in values]
        table.add_row(group.name or "all", str(found["seeds"]), *numbers)
    show_table(table)
