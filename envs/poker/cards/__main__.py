"""Builds the card abstraction, or loads it: `python -m pac.envs.poker.cards [FLOP TURN RIVER] [--workers N]`."""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from ...errors import BadParameter, PacError
from .abstraction import CardAbstraction, card_abstraction
from .build import NAMES

SHOWN = 10
"""Rows of a street in the table of buckets; more buckets share rows."""


def statistics(abstraction: CardAbstraction) -> Table:
    """Return a table of buckets: share of hands and mean equity on each street."""
    table = Table("buckets", "share of hands", "mean equity", title="Buckets, weakest first")
    for name, shares, equities in zip(NAMES.values(), abstraction.shares, abstraction.equities, strict=True):
        table.add_section()
        rows = min(SHOWN, len(shares))
        for row in range(rows):
            first, last = row * len(shares) // rows, (row + 1) * len(shares) // rows
            share = shares[first:last].sum()
            equity = np.nansum(shares[first:last] * equities[first:last]) / share if share else np.nan
            which = f"{first}" if last == first + 1 else f"{first}-{last - 1}"
            table.add_row(f"{name} {which}", f"{share:.1%}", f"{equity:.3f}")
    return table


def main(arguments: list[str]) -> int:
    """Build or load the abstraction with a progress bar, and print its table."""
    parser = argparse.ArgumentParser(prog="python -m pac.envs.poker.cards", description=__doc__)
    parser.add_argument("buckets", type=int, nargs="*", help="how many on flop, turn and river; 50 50 50 by default")
    parser.add_argument("--workers", type=int, default=2, help="threads to build with")
    parser.add_argument("--seed", type=int, default=0, help="of the sample that places the buckets")
    given = parser.parse_args(arguments)
    console = Console()
    columns = (TextColumn("{task.description:<20}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    started = time.monotonic()
    try:
        with Progress(*columns, console=console) as bars:
            tasks: dict[str, TaskID] = {}

            def tell(what: str, share: float) -> None:
                if what not in tasks:
                    tasks[what] = bars.add_task(what, total=1.0)
                bars.update(tasks[what], completed=share)

            found = card_abstraction(
                tuple(given.buckets) or (50, 50, 50), seed=given.seed, workers=given.workers, progress=tell
            )
    except PacError as error:
        sys.stderr.write(f"{error.title}: {error}\n")
        return 2 if isinstance(error, BadParameter) else 1
    seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    console.print(statistics(found))
    size = found.path.stat().st_size >> 20
    console.print(f"{found.path}\n{size:,} MiB, {seconds:.1f} s, at most {peak:,.0f} MiB of memory")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
