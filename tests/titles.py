"""Finds processes of the program, which have a title instead of their command line once they have begun."""

import psutil

TITLES = {
    "pac.training.session.host": ("pac-tui: session",),
    "pac.backends.workers.worker": ("pac-tui: worker", "pac-tui: learner"),
}


def runs(process: psutil.Process, module: str) -> bool:
    """Whether a process runs a module."""
    line = process.cmdline()
    return module in line or "".join(line[:1]).startswith(TITLES.get(module, ()))
