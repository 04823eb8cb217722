"""The command `pac-tui profile --kernels`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from math import isnan
from pathlib import Path
from typing import Any

from rich.text import Text

from ...envs import BadParameter
from ...training.kernels import KernelEvents, KernelUse, kernel_events, kernel_use
from ...training.runs.sessions import find_session, ranks_of
from ...training.session.control import TIMEOUT, SessionClient
from ...training.session.kernels import LONGEST, MOST_SECONDS
from .profile import percent
from .run import ProgressLine
from .show import console, plain_table, show_json, show_table

MOST_KERNELS = 12
SHORT = 0.95
"""A recording with less of the time than this has ended early."""


def profile_kernels(name: str, runs_dir: Path, seconds: float, *, json: bool) -> int:
    """Record the kernels of a session, and print when the GPU computes, when it waits, and what it computes.

    Raises:
        BadParameter: No such session is running, or it is for too long.
    """
    if seconds > MOST_SECONDS:
        raise BadParameter(f"--kernels records at most {MOST_SECONDS:g} seconds, got {seconds:g}")
    found = find_session(name, runs_dir)
    if not found.alive:
        raise BadParameter(f"{found.name} is not running any more: profile it while it trains")
    line, ranks = ProgressLine(silent=json), ranks_of(found)
    line.say(f"recording what {found.name} computes, after {seconds:g} s without, for {seconds:g} s; it is slower then")
    with ExitStack() as stack, ThreadPoolExecutor(len(ranks)) as threads:
        clients = [stack.enter_context(closing(SessionClient(one.directory, TIMEOUT + LONGEST))) for one in ranks]
        calls = [threads.submit(client.call, "kernels", seconds=seconds, lead=seconds) for client in clients]
        events = [kernel_events(call.result()) for call in calls]
    line.end()
    names = [f"rank {one.rank}" if len(ranks) > 1 else "session" for one in ranks]
    uses = [*zip(names, events, map(kernel_use, events), strict=True)]
    if json:
        return show_json({"run": found.name, "processes": [_as_json(*one) for one in uses]})
    for number, one in enumerate(uses):
        if number:
            console.print()
        _show(*one, seconds)
    return 0


def _show(name: str, events: KernelEvents, use: KernelUse, seconds: float) -> None:
    what = "kernels" if events.gpu else "operators"
    where = (
        f"the GPU ({events.device})" if events.gpu else "the CPU, since this training uses no GPU: operators of PyTorch"
    )
    console.print(f"{name}, {use.seconds:.2f} s of {where}", markup=False)
    gaps = "" if isnan(use.gap) else f"{use.gaps:,} gaps between {what}, median {_time(use.gap)}"
    shares = plain_table("", "", "")
    shares.show_header = False
    shares.add_row("computes" if events.gpu else what, percent(use.computes), "")
    if events.gpu:
        shares.add_row("copies", percent(use.copies), "memory, while nothing is computed")
    shares.add_row("waits" if events.gpu else "between", percent(use.waits), gaps)
    show_table(shares)
    if not use.kernels:
        console.print(f"\nThere were no {what}: is the session paused, or does another process compute?", markup=False)
    else:
        console.print()
        table = plain_table("share", "time", "runs", "mean", what)
        for one in use.kernels[:MOST_KERNELS]:
            numbers = (percent(one.share), _time(one.seconds), f"{one.runs:,}", _time(one.seconds / one.runs))
            table.add_row(*(Text(number, justify="right") for number in numbers), Text(one.name))
        show_table(table)
        if more := use.kernels[MOST_KERNELS:]:
            console.print(
                f"and {len(more)} more, {100 * sum(one.share for one in more):.1f} % of the time", markup=False
            )
    if events.lost or use.seconds < SHORT * seconds:
        early = f"{use.seconds:.2f} s instead of {seconds:g} s, since more {what} would take too much memory."
        console.print(f"\n{early}", markup=False)
    console.print(f"\nCost: {events.price}.", markup=False, soft_wrap=True)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:,.1f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.1f} us"


def _as_json(name: str, events: KernelEvents, use: KernelUse) -> dict[str, Any]:
    return {
        "process": name,
        "device": events.device,
        "seconds": use.seconds,
        "computes": use.computes,
        "copies": use.copies,
        "waits": use.waits,
        "gaps": use.gaps,
        "median_gap": None if isnan(use.gap) else use.gap,
        "kernels" if events.gpu else "operators": [one._asdict() for one in use.kernels],
        "lanes": list(events.lanes),
        "lost": events.lost,
        "cost": {
            "before": None if isnan(events.before) else events.before,
            "during": events.during,
            "held": events.held,
        },
    }
