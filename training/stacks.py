"""Where the threads of a session's processes are now, also if the session cannot answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ..backends.profiling.asking import answers, ask
from ..backends.system.segment import owner_of
from ..envs.printable import printable
from .session.control import SessionClient, SessionGone

LIMIT = 6.0
"""Seconds after which a session counts as stuck that is asked for its stacks."""


def stacks_of(directory: Path) -> dict[str, Any]:
    """Return the `processes` of the session in a directory, and the ids of those `elsewhere` that cannot be asked.

    If the session does not answer, its workers do.
    """
    try:
        with closing(SessionClient(directory, LIMIT)) as client:
            return client.call("stacks")
    except SessionGone:
        pid = owner_of(directory) or 0
        text = f"it does not answer: native code may keep the GIL; `py-spy dump --pid {pid}` shows its stacks"
        stuck = {"process": "session", "pid": pid, "text": text}
        return {"processes": [stuck, *answers(ask((directory,), 0.0), 0.0, dump=True)], "elsewhere": ()}


def stack_lines(answer: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with all stacks, each with its level: 0 processes, 1 threads, 2 functions.

    The main thread of a process, whose name is empty, comes first.
    """
    for process in answer["processes"]:
        yield 0, printable(f"{process['process']} (process {process['pid']})")
        for line in printable(str(process.get("text", "")), "\n").splitlines():
            yield 1, line
        for thread in sorted(process.get("threads", ()), key=lambda thread: bool(thread["thread"])):
            yield 1, printable(thread["thread"]) or "main thread"
            for file, number, function in thread["stack"]:
                yield 2, printable(f"{function}  {file}:{number}")
    if answer["elsewhere"]:
        some = ", ".join(str(int(pid)) for pid in sorted(answer["elsewhere"]))
        yield 0, f"Processes of the script that step environments cannot be asked ({some}): `py-spy dump --pid PID`"
