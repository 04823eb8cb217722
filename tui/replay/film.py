"""Makes films: of one or several recorded episodes, and of a training, the same episode at every kept checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from ...training.past.episode import Episode
from .film_files import check_film, write_cast, write_pictures
from .tracks import Film, Track

T = TypeVar("T")

LEAST_RATE, MOST_RATE, SHORTEST = 4.0, 30.0, 10.0
"""Steps per second that are usual, at least and at most, and seconds that a film takes between them."""

OnProgress = Callable[[str, float], object]


def make_film(
    tracks: Sequence[Sequence[tuple[str, Episode]]],
    target: Path,
    *,
    rate: float | None = None,
    scale: int | None = None,
    on_progress: OnProgress = lambda _text, _share: None,
) -> None:
    """Write a film; one that is there is replaced when the new one is complete.

    Args:
        tracks: What is shown side by side: labels and episodes, of which those of a track follow each other.
        rate: Steps per second; None for a usual number.
        scale: By what boards are enlarged; None for a usual size.
        on_progress: Called with what is being done, and the fraction that is done.

    Raises:
        CannotExport: The film cannot be written there, an episode cannot be drawn, or a library is missing.
    """
    check_film(target)
    film = Film([Track.of(parts, scale) for parts in tracks])
    rate = rate or min(MOST_RATE, max(LEAST_RATE, film.length / SHORTEST))

    def noted(shown: Iterable[T]) -> Iterator[T]:
        for index, one in enumerate(shown):
            on_progress(f"{index:,} of {film.length:,} pictures", index / film.length)
            yield one

    if target.suffix == ".cast":
        write_cast(noted(film.screens()), target, rate, "pac-tui")
    else:
        write_pictures(noted(film.pictures()), target, rate)
