"""A worker process: `python -m pac.backends.workers.worker`, which reads its instructions as JSON from stdin.

A spare worker first reads a line that says which kernels to load. A worker dies with its parent, ignores Ctrl-C (the
session handles it), and writes its failure into a file.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ...envs.apart import die_with_parent
from ...envs.registry import known_tasks, learn_tasks
from ...envs.titles import Titled, set_title


def instructions_with(**given: Any) -> str:
    """Return a line of instructions for a process that this one has started."""
    own = {"parent": os.getpid(), "path": sys.path, "tasks": known_tasks(), "run": Titled.run}
    return json.dumps({**own, **given}) + "\n"


def report(path: Path, error: BaseException, **facts: int | list[float] | None) -> None:
    """Write a failure into a file, for the fleet."""
    reason = f"{type(error).__name__}: {error}"
    cause = error.__cause__ if facts.get("environment") is not None and error.__cause__ else error
    text = "".join(traceback.format_exception(cause))
    beside = path.with_suffix(".part")
    beside.touch(0o600)
    beside.write_text(json.dumps({"reason": reason, "traceback": text, **facts}))
    beside.replace(path)


def read_instructions() -> Mapping[str, Any]:
    """Return the next line of instructions; exit at the end of stdin."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    instructions: Mapping[str, Any] = json.loads(line)
    die_with_parent(instructions["parent"])
    sys.path[:] = instructions["path"]
    learn_tasks(instructions["tasks"])
    Titled.run = instructions["run"]
    return instructions


def load_kernels(instructions: Mapping[str, Any]) -> None:
    """Load kernels: the first worker immediately, the others when it closes its end of the pipe.

    Errors are ignored: they occur again, and are reported, when the worker is used.
    """
    from ...envs.task import load

    with suppress(Exception):
        compile_all = load(instructions["kernels"])
        if not instructions["first"]:
            os.read(instructions["pipe"], 1)
        compile_all()
    os.close(instructions["pipe"])


def main() -> int:
    """Run the function named on stdin until it returns or fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    instructions = read_instructions()
    if "kernels" in instructions:
        load_kernels(instructions)
        instructions = read_instructions()
    from ...envs.processes import leave_to_parent
    from ...envs.spaces.drawing import BUDGET
    from ..profiling.asking import SUFFIX, answer_requests
    from ..system.segment import Segment
    from .control import FAILED, Link

    title = instructions["title"] or f"worker {instructions['index'] + 1}"
    set_title(title)
    answer_requests(Path(instructions["report"]).with_suffix(SUFFIX), title)
    leave_to_parent()
    BUDGET.parts = instructions["members"]
    link = Link(
        Segment.attach(Path(instructions["control"]), writable=True),
        instructions["index"],
        instructions["parent"],
        instructions["spin"],
    )
    try:
        module, _, name = instructions["target"].partition(":")
        function: Callable[[Link, Mapping[str, Any]], None] = getattr(import_module(module), name)
        function(link, instructions["arguments"])
    except Exception as error:
        report(
            Path(instructions["report"]),
            error,
            environment=getattr(error, "environment", None),
            action=getattr(error, "action", None),
        )
        link.set_state(FAILED)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
