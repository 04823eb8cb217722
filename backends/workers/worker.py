"""A worker process: `python -m pac.backends.workers.worker`, told by JSON on its standard input what to do.

One that is started ahead is first told, by a line of its own, what to load. It dies with its parent, ignores
Ctrl-C (the session decides), and reports what goes wrong as data.
"""

from __future__ import annotations

import ctypes
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

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Be killed when the parent dies; leave at once if it already has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def report(path: Path, error: BaseException, **facts: int | list[float] | None) -> None:
    """Write what is known of a failure, so that the fleet can read it."""
    reason = f"{type(error).__name__}: {error}"
    cause = error.__cause__ if facts.get("environment") is not None and error.__cause__ else error
    text = "".join(traceback.format_exception(cause))
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps({"reason": reason, "traceback": text, **facts}))
    beside.replace(path)


def read_instructions() -> Mapping[str, Any]:
    """Return the next line of what this worker is told; leave if nobody has anything to say."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    told: Mapping[str, Any] = json.loads(line)
    die_with_parent(told["parent"])
    sys.path[:] = told["path"]
    return told


def load_ahead(told: Mapping[str, Any]) -> None:
    """Load kernels: the first worker at once, the others when it closes its end of the pipe.

    What goes wrong here goes wrong again where it is reported.
    """
    from ...envs.task import load

    with suppress(Exception):
        compile_all = load(told["kernels"])
        if not told["first"]:
            os.read(told["pipe"], 1)
        compile_all()
    os.close(told["pipe"])


def main() -> int:
    """Run the function that standard input names, until it returns or fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    told = read_instructions()
    if "kernels" in told:
        load_ahead(told)
        told = read_instructions()
    from ...envs.processes import leave_to_parent
    from ..system.segment import Segment
    from .control import FAILED, Link

    leave_to_parent()
    link = Link(Segment.attach(Path(told["control"]), writable=True), told["index"], told["parent"], told["spin"])
    try:
        module, _, name = told["target"].partition(":")
        function: Callable[[Link, Mapping[str, Any]], None] = getattr(import_module(module), name)
        function(link, told["arguments"])
    except Exception as error:
        report(
            Path(told["report"]),
            error,
            environment=getattr(error, "environment", None),
            action=getattr(error, "action", None),
        )
        link.trouble(FAILED)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
