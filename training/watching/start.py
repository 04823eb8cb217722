"""Installs the hooks that watch an unchanged script, in the script's interpreter and before it runs.

Only the standard library is imported here. The code that watches an environment is imported at its first step, when the
script has imported NumPy itself.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import resource
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from . import requested
from .after_import import call_after_import
from .hidden import hidden
from .scalars import scalar_hooks
from .startup.sitecustomize import VARIABLE, path_with_startup

BUSY = 1.0  # s of CPU time, from which on other processes may have done the training


def _hook_pools(registration: ModuleType) -> None:
    from .env_pool import follow_pools  # needs NumPy

    follow_pools(registration)


def start(request: Mapping[str, Any]) -> None:
    """Watch the environments that this process makes from now on.

    Args:
        request: What `pac-tui watch` asks for: `output`, the file that gets the script's output, if it is a file;
            `quiet`, if it is not to be told how to attach; `keep`, if a run is kept; `folder` and `pythonpath`, see
            `startup.sitecustomize`.
    """
    from .intercept import stop_in_fork
    from .libraries import environment_hooks

    requested.output = request.get("output")
    requested.quiet, requested.keep = bool(request.get("quiet")), bool(request.get("keep", True))
    if requested.output:
        for stream in (sys.stdout, sys.stderr):  # a line is shown when it is printed, as in a terminal
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(line_buffering=True)
    call_after_import({**environment_hooks(), "envpool.registration": _hook_pools, **scalar_hooks()})
    os.register_at_fork(after_in_child=stop_in_fork)
    if "folder" in request:
        execve = os.execve
        for name in ("execv", "execve"):
            setattr(os, name, _still_watched(getattr(os, name), execve, request))
        atexit.register(_say_if_nothing_was_watched, os.getpid())


def start_if_asked() -> None:
    """Watch this process, but not those that it starts, if the variable PAC_WATCH is set."""
    if os.environ.pop("PAC_WATCH", "") not in {"", "0"}:
        start({})


def _still_watched(original: Any, execve: Any, request: Mapping[str, Any]) -> Callable[..., Any]:
    """Return `os.execv` or `os.execve` so that a script that starts itself again is still watched."""

    @hidden
    def replaced(path: Any, argv: Any, env: Mapping[str, str] | None = None) -> Any:
        if os.path.basename(os.fsdecode(path)).startswith("python"):  # noqa: PTH119 - as it was given
            given = dict(os.environ if env is None else env)
            before = given.get("PYTHONPATH")
            asked = json.dumps({**request, "pythonpath": before})
            return execve(path, argv, {**given, "PYTHONPATH": path_with_startup(before), VARIABLE: asked})
        return original(path, argv) if env is None else original(path, argv, env)

    return functools.wraps(original)(replaced)


def _say_if_nothing_was_watched(process: int) -> None:
    """Say at the end that no environment was recognized, and what to do."""
    from . import followed, groups

    if os.getpid() != process or groups.recognized or followed.Reports.said:
        return
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    if others.ru_utime > BUSY:
        what = "processes that it starts are not watched: watch the one that steps the environments"
    else:
        what = "for a loop of its own, call watch.step (docs/watch.md)"
    print(f"pac-tui: no environment was recognized in this script; {what}", file=sys.stderr)  # noqa: T201
