"""Installs the hooks that watch an unchanged script, in the script's interpreter and before it runs.

Only the standard library is imported here. The code that watches an environment is imported at its first step, when the
script has imported NumPy itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from .after_import import call_after_import
from .hooked_envs import environment_hooks
from .interception import stop_intercepting
from .scalars import scalar_hooks


def start(request: Mapping[str, Any]) -> None:
    """Watch the environments that this process makes from now on.

    Args:
        request: What `pac-tui watch` asks for: `output`, the file that gets the script's output, if it is a file.
    """
    from . import requested

    requested.output = request.get("output")
    requested.quiet = bool(request.get("quiet"))
    if requested.output:
        for stream in (sys.stdout, sys.stderr):  # a line is shown when it is printed, as in a terminal
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(line_buffering=True)
    call_after_import({**environment_hooks(), **scalar_hooks()})
    os.register_at_fork(after_in_child=stop_intercepting)


def start_if_asked() -> None:
    """Watch this process, but not those that it starts, if the variable PAC_WATCH is set."""
    if os.environ.pop("PAC_WATCH", "") not in {"", "0"}:
        start({})
