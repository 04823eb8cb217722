"""Measures several sides in turn within one run, so that other load on the machine affects all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from .facts import Progress, Results, ratios_of, summary_of

Result = TypeVar("Result")


def alternate(
    sides: Mapping[str, Callable[[], Result]], rounds: int, progress: Progress | None = None
) -> dict[str, list[Result]]:
    """Measure every side once per round, in an order that is reversed each time; return the results of each side."""
    found: dict[str, list[Result]] = {side: [] for side in sides}
    for number in range(rounds):
        for place, side in enumerate([*sides][:: -1 if number % 2 else 1]):
            if progress is not None:
                progress(side, (number + place / len(sides)) / rounds)
            found[side].append(sides[side]())
    return found


def compared(rates: Mapping[str, list[float]], ours: str, other: str) -> Results:
    """Return a summary of each side's rates, and the ratio of two sides within each round."""
    return {side: summary_of(found) for side, found in rates.items()} | ratios_of(rates[ours], rates[other])


def portion(progress: Progress, number: float, of: float) -> Progress:
    """Return a function that reports the progress of part `number`, from 0, of `of` equal parts."""
    return lambda what, share: progress(what, (number + share) / of)


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Call `work`; return the seconds that it took, and its result."""
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def rate_of(work: Callable[[], float], seconds: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Call `work`, which returns how many units it has done, for some seconds of `clock`; return units per second."""
    done, begun = 0.0, clock()
    while (spent := clock() - begun) < seconds:
        done += work()
    return done / spent
