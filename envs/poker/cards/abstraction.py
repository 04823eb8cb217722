"""The card abstraction of hold'em: built once, kept on the disk, shared by all processes."""

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
"""Of the file; to be raised whenever the same parameters give other tables."""
MOST = 1 << 16


@dataclass(frozen=True)
class CardAbstraction:
    """Which of a street's buckets every hand on every board belongs to; buckets are numbered by rising equity.

    Attributes:
        path: The file that holds the tables.
        tables: What `deal.look_up_many` needs; the memory is the file's, and cannot be written.
        shares: For flop, turn and river, `(buckets,)` float64: each bucket's share of all hands.
        equities: Likewise the mean equity of its hands, before the river as bins of 1/32 tell it; NaN if it is empty.
    """

    path: Path
    tables: BucketTables
    shares: tuple[Array, Array, Array]
    equities: tuple[Array, Array, Array]

    @property
    def buckets(self) -> tuple[int, int, int, int]:
        """How many there are on each street; a river has 1,981 equities, and of more buckets some are empty."""
        flop, turn, river = (len(street) for street in self.shares)
        return len(CLASSES), flop, turn, river

    @property
    def checksum(self) -> str:
        """What differs between any two that differ."""
        return checksum_of(self.path)


def card_abstraction(
    buckets: tuple[int, int, int] = (50, 50, 50),
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = no_progress,
    folder: Path | None = None,
) -> CardAbstraction:
    """Load a card abstraction, wholly verified, or build it and keep it.

    Args:
        buckets: How many are wanted on flop, turn and river, 1 to 65,536.
        seed: Of the sample that places the buckets; the same seed gives the same buckets, for any number of workers.
        workers: Threads to build with.
        progress: Is told what is being done, and the share of it that is done.
        folder: Where the file is kept, instead of the user's cache.

    Raises:
        BadParameter: The buckets are no such numbers.
        NotKept: The file cannot be written.
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
    """Return the file of the abstraction with so many buckets on flop, turn and river."""
    return (folder or cache_folder()) / f"holdem-{'-'.join(map(str, buckets))}-{seed}.safetensors"


def open_abstraction(path: Path) -> CardAbstraction:
    """Open a file that `card_abstraction` has just verified, in another process, without reading all of it again.

    Raises:
        FileNotFoundError: There is none.
        Unfit: It is damaged so that it cannot be read.
    """
    return _abstraction(path, opened(path))


def _abstraction(path: Path, arrays: dict[str, Array]) -> CardAbstraction:
    def of(what: str) -> tuple[Array, Array, Array]:
        flop, turn, river = (arrays[f"{name}.{what}"] for name in NAMES.values())
        return flop, turn, river

    return CardAbstraction(path, BucketTables(*of("boards"), *of("buckets")), of("shares"), of("equities"))
