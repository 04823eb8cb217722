"""The commands `pac-tui profile` and `pac-tui stacks`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from rich.text import Text

from ...backends.profiling.asking import MOST_SECONDS
from ...backends.profiling.spying import NEEDS, spied
from ...envs import BadParameter
from ...training.profile import HotPlace, Profile
from ...training.runs.sessions import FoundSession, find_session, ranks_of
from ...training.session.control import SessionClient
from ...training.stacks import stack_lines, stacks_of
from ..terminal.output import json_text
from .run import ProgressLine
from .show import console, plain_table, show_json, show_table

PART = 1.0
"""Seconds that a session samples at a time."""
MOST_LINES, MOST_FUNCTIONS = 15, 10


def profile_session(name: str, runs_dir: Path, seconds: float, *, speedscope: Path | None, json: bool) -> int:
    """Sample a session and its workers, and print where their time goes.

    Raises:
        BadParameter: No such session is running, or the file cannot be written there.
    """
    if speedscope is not None and not speedscope.parent.is_dir():
        raise BadParameter(f"the folder {speedscope.parent} of the file for speedscope does not exist: make it")
    found, profile, line = _running(name, runs_dir), Profile(), ProgressLine(silent=json)
    left, outside = seconds, None
    with _clients(found) as clients, ThreadPoolExecutor(len(clients) + 1) as threads:
        while left > PART / 10:
            line.say(f"sampling {found.name}: {left:.0f} s left")
            part = min(PART, left, MOST_SECONDS)
            calls = {prefix: threads.submit(client.call, "profile", seconds=part) for prefix, client in clients}
            for prefix, call in calls.items():
                profile.add(call.result(), prefix)
            left -= part
            if profile.elsewhere and outside is None:
                outside = threads.submit(spied, sorted(profile.elsewhere), left)
        if outside is not None:
            profile.add({"processes": outside.result(), "elsewhere": ()})
    line.end()
    if speedscope is not None:
        speedscope.write_text(json_text(profile.speedscope(found.name)) + "\n")
    if json:
        return show_json(profile.as_json(found.name))
    _show(profile)
    if speedscope is not None:
        console.print(f"\nThe stacks are in {speedscope}; https://www.speedscope.app shows them.", markup=False)
    return 0


def show_stacks(name: str, runs_dir: Path, *, json: bool) -> int:
    """Print the stacks of all threads of a session and its workers, as they are now.

    Raises:
        BadParameter: No such session is running.
    """
    found = [stacks_of(one.directory) for one in ranks_of(_running(name, runs_dir))]
    processes = [process for answer in found for process in answer["processes"]]
    elsewhere = sorted({int(pid) for answer in found for pid in answer["elsewhere"]})
    if json:
        return show_json({"run": name, "processes": processes, "elsewhere": elsewhere})
    for level, text in stack_lines({"processes": processes, "elsewhere": elsewhere}):
        console.print("  " * level + text, style="" if level else "bold", markup=False, soft_wrap=True)
    return 0


def _running(name: str, runs_dir: Path) -> FoundSession:
    found = find_session(name, runs_dir)
    if not found.alive:
        raise BadParameter(f"{found.name} is not running any more: profile it while it trains")
    return found


@contextmanager
def _clients(found: FoundSession) -> Iterator[list[tuple[str, SessionClient]]]:
    """Yield connections to all ranks, with what the names of their processes begin with."""
    ranks = ranks_of(found)
    with ExitStack() as stack:
        yield [
            (f"rank {one.rank} " * (len(ranks) > 1), stack.enter_context(closing(SessionClient(one.directory))))
            for one in ranks
        ]


def _show(profile: Profile) -> None:
    table = plain_table("process", "environment", "policy", "learner", "other", "waiting")
    for one in profile.processes():
        who = " ".join(filter(None, (one["process"], one["thread"])))
        table.add_row(who, *(Text(percent(share), justify="right") for share in one["kinds"].values()))
    show_table(table)
    _show_places("lines", profile.lines()[:MOST_LINES], lambda hot: f"{hot.file}:{hot.line} {hot.function}")
    _show_places("functions", profile.functions()[:MOST_FUNCTIONS], lambda hot: f"{hot.function} {hot.file}")
    _show_places("waits of the training", profile.waits()[:3], lambda hot: f"{hot.file}:{hot.line} {hot.function}")
    if not profile.lines():
        console.print("\nNothing has run: is the session paused?", markup=False)
    for name, text in profile.silent.items():
        console.print(f"\n{name}: {text}", markup=False)
    if profile.elsewhere and not profile.silent:
        some = ", ".join(map(str, sorted(profile.elsewhere)))
        console.print(f"\nNot sampled: processes of the script that step environments ({some}); {NEEDS}", markup=False)


def _show_places(title: str, places: list[HotPlace], name: Callable[[HotPlace], str]) -> None:
    if not places:
        return
    console.print()
    table = plain_table("own", "total", "kind", "process", title)
    for hot in places:
        who = " ".join(filter(None, (hot.process, hot.thread)))
        table.add_row(percent(hot.share), percent(hot.total), hot.kind, who, Text(name(hot)))
    show_table(table)


def percent(share: float) -> str:
    """Return a share as a percentage of the same width."""
    return f"{100 * share:5.1f} %"
