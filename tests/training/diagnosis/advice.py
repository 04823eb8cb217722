"""Follows what the diagnosis recommends, and compares: `python -m tests.training.diagnosis.advice [ILLNESS ...]`.

For each illness whose advice can be followed without knowing the script, it trains with the illness and with the advice
at the same time, for as much CPU time, and prints what became of it.
"""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from .illnesses import ILLNESSES, Watched, watched

ADVISED = [name for name, illness in ILLNESSES.items() if illness.advised]
FASTER = 1.1


class Followed(NamedTuple):
    """A training with an illness, and the same one with the advice."""

    illness: str
    sick: Watched
    advised: Watched

    @property
    def gone(self) -> bool:
        """Whether the findings are gone, and no other warning came in their place."""
        left = set(ILLNESSES[self.illness].rules) & set(self.advised.findings)
        return not left and not self.advised.said("warning", "fault")

    @property
    def better(self) -> bool:
        """Whether it is better or faster."""
        return self.advised.length > self.sick.length or self.advised.steps > FASTER * self.sick.steps

    def __str__(self) -> str:
        """A line of the table."""
        figures = [f"{one.length:.0f} after {one.steps:,.0f}" for one in (self.sick, self.advised)]
        said = ", ".join(sorted(self.advised.findings))
        return f"{self.illness}: gone {self.gone}, better {self.better}: {' -> '.join(figures)} steps; {said}"


def followed(illness: str) -> Followed:
    """Train with an illness and with the advice at the same time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        places = [Path(folder) / kind for kind in ("sick", "advised")]
        for place in places:
            place.mkdir()
        sick = pool.submit(watched, places[0], illness)
        advised = pool.submit(watched, places[1], illness, advised=True)
        return Followed(illness, sick.result(), advised.result())


def main() -> None:
    """Print a line per illness, and the share of those that the advice cures."""
    cured = 0
    chosen = sys.argv[1:] or ADVISED
    for illness in chosen:
        found = followed(illness)
        cured += found.gone and found.better
        sys.stdout.write(f"{found}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{cured} of {len(chosen)} are cured\n")


if __name__ == "__main__":
    main()
