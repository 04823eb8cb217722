"""A progress bar on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .console import PrintableConsole


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar on stderr; yield a function that takes what is being done, and the fraction that is done."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=PrintableConsole(stderr=True), transient=True) as progress:
        bar = progress.add_task(name, total=1.0)
        yield lambda text, share: progress.update(bar, description=f"{name}: {text}", completed=share)
