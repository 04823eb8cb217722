"""Titles of the program's own processes in `ps` and `htop`. A watched script's process keeps its own."""

from __future__ import annotations

import os
from contextlib import suppress

from .printable import printable

KEEP_VARIABLES = "SPT_NOENV"
"""Tells `setproctitle` not to write over the environment variables that other processes read in /proc."""


class Titled:
    """What this process belongs to.

    Attributes:
        run: The name of the run, which its children take over; empty without one.
    """

    run = ""


def set_title(role: str) -> None:
    """Give this process a title, such as `pac-tui: worker 2 of treasure-1128`; without the library, nothing happens."""
    title = printable(f"pac-tui: {role}{f' of {Titled.run}' if Titled.run else ''}")
    before = os.environ.get(KEEP_VARIABLES)
    os.environ[KEEP_VARIABLES] = "1"
    with suppress(Exception):  # it is missing, or does not know this system
        from setproctitle import setproctitle

        setproctitle(title)
    if before is None:
        del os.environ[KEEP_VARIABLES]
    else:
        os.environ[KEEP_VARIABLES] = before
