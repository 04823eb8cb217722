"""A progress bar on stderr."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ...envs.signals import handling
from .console import PrintableConsole
from .output import unfiltered


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar on stderr; yield a function that takes what is being done, and the fraction that is done.

    SIGTERM interrupts the work as Ctrl-C does, so that the processes that it has started are stopped.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=False),
        TextColumn("left", markup=False),
    )
    # While it runs, Rich replaces sys.stderr, and would find the stream that escapes, not the one below it.
    console = PrintableConsole(file=unfiltered(sys.stderr))
    with (
        Progress(*columns, console=console, transient=True) as progress,
        handling({signal.SIGTERM: signal.default_int_handler}),
    ):
        bar = progress.add_task(name, total=1.0)
        yield lambda text, share: progress.update(bar, description=f"{name}: {text}", completed=share)
