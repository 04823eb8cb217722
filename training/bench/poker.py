"""Our solvers against OpenSpiel's and donksolver, and two workers against one: in turn, on the same two cores."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from typing import NamedTuple

from ...backends import usable_cores
from ...envs.poker.cards.abstraction import card_abstraction
from . import solvers
from .contestant import Absent, Contestant, first_cores
from .facts import Figures, Progress, summed_up

LIMIT = 900.0
"""Seconds that a contestant has to start: donksolver builds its card abstraction, once."""


class Side(NamedTuple):
    """One side of a comparison: a contestant of `solvers`, what it solves, and with how many workers."""

    solver: str
    game: str
    workers: int = 1


FCPA, WIDE = "holdem:betting=fcpa", "holdem:betting=wide"
PAIRS = {
    "leduc": (Side("pac-tui", "leduc"), Side("open_spiel", "leduc")),
    "liars_dice": (Side("pac-tui", "liars_dice"), Side("open_spiel", "liars_dice")),
    "cfr_plus": (Side("pac-tui cfr+", "leduc"), Side("open_spiel cfr+", "leduc")),
    "holdem_fcpa": (Side("pac-tui", FCPA, 2), Side("open_spiel", FCPA)),
    "holdem_wide": (Side("pac-tui", WIDE, 2), Side("donksolver", WIDE, 2)),
    "leduc_workers": (Side("pac-tui", "leduc", 2), Side("pac-tui", "leduc")),
    "holdem_workers": (Side("pac-tui", WIDE, 2), Side("pac-tui", WIDE)),
}
"""By name; the first one's iterations per second are told as a multiple of the second one's."""
FINE = 6
"""So many times the rounds where a solver is compared with itself: a core may change its speed by half meanwhile."""
LONG = (Side("pac-tui", "leduc", 2), Side("open_spiel", "leduc"))
"""Whose strategies are compared."""


def compare_solvers(
    *,
    seconds: float = 1.0,
    rounds: int = 7,
    long: float = 5.0,
    seeds: int = 5,
    progress: Progress = lambda _what, _share: None,
) -> Figures:
    """Measure every pair in turn, then how good a strategy both sides have after some seconds.

    Args:
        seconds: Length of one measurement.
        rounds: Measurements of each side, and more where they are two workers and one.
        long: Seconds of a solution.
        seeds: Solutions of each side.
        progress: Told what is being measured.

    Returns:
        By the name of a pair `ours`, `theirs` (iterations/s, median and extremes) and `ratio`, the median of those of
        each round; `nash_conv` the same of NashConv, `seconds`, and the ratio theirs over ours; `cores`; and who was
        `absent`, and why.

    Raises:
        PeerFailed: A contestant did not answer.
    """
    progress("card abstraction", 0.0)
    card_abstraction(solvers.BUCKETS, workers=usable_cores())
    result: Figures = {"cores": first_cores(), "absent": {}}
    steps = len(PAIRS) + 1
    for number, (name, sides) in enumerate(PAIRS.items()):
        progress(name, number / steps)
        times = rounds * FINE if sides[0].solver == sides[1].solver else rounds
        found = _in_turn(sides, [(seconds,)] * times, result["absent"])
        if found:
            ours, theirs = ([answer["rate"] for answer in answers] for answers in found)
            ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
            result[name] = {"ours": summed_up(ours), "theirs": summed_up(theirs), "ratio": ratio}
    progress("NashConv", len(PAIRS) / steps)
    found = _in_turn(LONG, [(long, seed) for seed in range(seeds)], result["absent"])
    if found:
        ours, theirs = ([answer["nash_conv"] for answer in answers] for answers in found)
        ratio = median(theirs) / median(ours)
        result["nash_conv"] = {"ours": summed_up(ours), "theirs": summed_up(theirs), "ratio": ratio, "seconds": long}
    return result


def _in_turn(
    sides: Sequence[Side], told: Sequence[tuple[float, ...]], absent: dict[str, str]
) -> list[list[Figures]] | None:
    """Return what each side answers when told in turn; None if one is absent, and note why."""
    with ExitStack() as stack:
        running: list[Contestant] = []
        for side in sides:
            try:
                running.append(_start(side))
            except Absent as error:
                absent[side.solver.partition(" ")[0]] = f"{error}; the extra [peers] has it"
                return None
            stack.callback(running[-1].close)
        answers: list[list[Figures]] = [[] for _ in running]
        for words in told:
            for contestant, heard in zip(running, answers, strict=True):
                heard.append(contestant.measure(*words))
        return answers


def _start(side: Side) -> Contestant:
    arguments = [side.solver, side.game, str(side.workers), ",".join(map(str, first_cores()))]
    return Contestant(side.solver, [sys.executable, "-P", "-W", "ignore", "-m", solvers.__name__, *arguments], LIMIT)
