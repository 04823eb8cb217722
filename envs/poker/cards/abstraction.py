"""The card abstraction of hold'em, built once, stored on disk and shared by all processes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import BadParameter
from ...fields import Array
from .build import NAMES, build
from .deal import BucketTables
from .notation import CLASSES
from .parallel import Progress, ThreadCrew, no_progress
from .store import cache_folder, cached_arrays, checksum_of, opened

VERSION = 1
"""The version of the file, incremented when the same parameters give other tables."""
MOST = 1 << 16


@dataclass(frozen=True)
class CardAbstraction:
    """The bucket of every hand on every board; buckets are numbered by ascending equity.

    Attributes:
        path: The file with the tables.
        tables: The tables for `deal.look_up_many`, mapped read-only from the file.
        shares: For flop, turn and river, `(buckets,)` float64, each bucket's share of all hands.
        equities: For flop, turn and river, the mean equity of each bucket, from bins of 1/32 before the river;
            NaN if the bucket is empty.
    """

    path: Path
    tables: BucketTables
    shares: tuple[Array, Array, Array]
    equities: tuple[Array, Array, Array]

    @property
    def buckets(self) -> tuple[int, int, int, int]:
        """Number of buckets on each street; a river has 1,981 equities, so some of more buckets are empty."""
        flop, turn, river = (len(street) for street in self.shares)
        return len(CLASSES), flop, turn, river

    @property
    def checksum(self) -> str:
        """A checksum that differs between different abstractions."""
        return checksum_of(self.path)


def card_abstraction(
    buckets: tuple[int, int, int] = (50, 50, 50),
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = no_progress,
    folder: Path | None = None,
) -> CardAbstraction:
    """Load a card abstraction and verify it, or build and store it.

    Args:
        buckets: Number of buckets on flop, turn and river, 1 to 65,536.
        seed: Seed of the sample that places the buckets; the buckets do not depend on the number of workers.
        workers: Number of threads for building.
        progress: Called with the name and the completed share of what is computed.
        folder: The folder of the file, by default the user's cache.

    Raises:
        BadParameter: The numbers of buckets are out of range.
        CacheNotWritable: The file cannot be written.
    """
    if len(buckets) != len(NAMES) or not all(1 <= count <= MOST for count in buckets):
        raise BadParameter(f"buckets are three numbers from 1 to {MOST:,}, for flop, turn and river, got {buckets}")

    def make() -> dict[str, Array]:
        with ThreadCrew(workers, progress) as crew:
            boards, streets = build(buckets, seed, crew)
        made: dict[str, Array] = {}
        for size, name in NAMES.items():
            made |= {f"{name}.boards": boards[size].table, f"{name}.buckets": streets[size].table}
            made |= {f"{name}.shares": streets[size].shares, f"{name}.equities": streets[size].equities}
        return made

    path = path_of(buckets, seed, folder)
    counts = "-".join(map(str, buckets))
    facts = {"what": "card abstraction", "version": str(VERSION), "buckets": counts, "seed": str(seed)}
    return _abstraction(path, cached_arrays(path, facts, make))


def path_of(buckets: tuple[int, ...], seed: int = 0, folder: Path | None = None) -> Path:
    """Return the file of the abstraction with these numbers of buckets on flop, turn and river."""
    return (folder or cache_folder()) / f"holdem-{'-'.join(map(str, buckets))}-{seed}.safetensors"


def open_abstraction(path: Path) -> CardAbstraction:
    """Open a file that `card_abstraction` has verified in another process, without verifying it again.

    Raises:
        FileNotFoundError: There is no such file.
        UnusableFile: The file is damaged and cannot be read.
    """
    return _abstraction(path, opened(path))


def _abstraction(path: Path, arrays: dict[str, Array]) -> CardAbstraction:
    def of(what: str) -> tuple[Array, Array, Array]:
        flop, turn, river = (arrays[f"{name}.{what}"] for name in NAMES.values())
        return flop, turn, river

    return CardAbstraction(path, BucketTables(*of("boards"), *of("buckets")), of("shares"), of("equities"))
