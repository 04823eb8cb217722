"""The command `pac-tui trace`."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

from ...envs import BadParameter
from ...training.runs.sessions import find_session, ranks_of
from ...training.session.control import TIMEOUT, SessionClient
from ...training.session.kernels import LONGEST
from ...training.trace import TraceFile
from ...training.trace_recorder import record, sentences
from .run import ProgressLine
from .show import console, show_json


def trace_session(name: str, runs_dir: Path, seconds: float, out: Path | None, *, kernels: bool, json: bool) -> int:
    """Record a trace of a running session and all its ranks, and say where it is.

    Raises:
        BadParameter: No such session is running, or the file cannot be written there.
    """
    found = find_session(name, runs_dir)
    if not found.alive:
        raise BadParameter(f"{found.name} is not running any more: trace it while it trains")
    file = TraceFile(out or Path(f"{found.name}-trace.json.gz"))
    line, ranks = ProgressLine(silent=json), ranks_of(found)
    with ExitStack() as stack:
        names = [f"rank {one.rank}" if len(ranks) > 1 else one.name for one in ranks]
        clients = [stack.enter_context(closing(SessionClient(one.directory))) for one in ranks]
        named = [*zip(names, clients, strict=True)]
        more = [
            stack.enter_context(closing(SessionClient(one.directory, TIMEOUT + LONGEST))) for one in ranks if kernels
        ]
        facts = record(
            named,
            file,
            seconds,
            lambda left: line.say(f"tracing {found.name}: {left:.0f} s left"),
            kernels=more,
        )
    line.end()
    if json:
        return show_json({"run": found.name, **facts})
    for sentence in sentences(facts):
        console.print(sentence, markup=False, soft_wrap=True)
    return 0
