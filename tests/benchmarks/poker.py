"""Compares the poker solver with OpenSpiel and donksolver, and two workers with one, on the same two cores."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from typing import NamedTuple

from pac.backends import usable_cores
from pac.envs.poker.cards.abstraction import card_abstraction
from pac.training.bench.facts import Progress, Results, summary_of
from pac.training.bench.measured_process import MeasuredProcess, NotInstalled, measured_cores
from pac.training.bench.turns import compared

from . import solvers

LIMIT = 900.0
"""Seconds in which a process must start: donksolver builds its card abstraction at its first start."""


class Side(NamedTuple):
    """One side of a comparison: the solver, the game and the number of workers."""

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
"""Pairs by name. The ratio is the first one's iterations per second over the second one's."""
FINE = 6
"""Factor of the rounds for a solver against itself, because a core's speed can change by half meanwhile."""
LONG = (Side("pac-tui", "leduc", 2), Side("open_spiel", "leduc"))
"""The pair whose strategies are compared."""


def compare_solvers(
    *,
    seconds: float = 1.0,
    rounds: int = 7,
    long: float = 5.0,
    seeds: int = 5,
    progress: Progress,
) -> Results:
    """Measure the speed of every pair, then the strategies of one pair after some seconds.

    Args:
        seconds: Length of one measurement.
        rounds: Measurements of each side; more for two workers against one.
        long: Seconds of each solution.
        seeds: Solutions of each side.
        progress: Called with the current measurement.

    Returns:
        By pair: `ours` and `theirs` (iterations/s: median, minimum, maximum) and `ratio`, the median ratio of a round;
        `nash_conv`: the same for NashConv, with `seconds` and the ratio of theirs over ours; `cores`; and the reasons
        of solvers that are `absent`.

    Raises:
        MeasurementFailed: A solver did not answer.
    """
    progress("card abstraction", 0.0)
    card_abstraction(solvers.BUCKETS, workers=usable_cores())
    result: Results = {"cores": measured_cores(), "absent": {}}
    steps = len(PAIRS) + 1
    for number, (name, sides) in enumerate(PAIRS.items()):
        progress(name, number / steps)
        times = rounds * FINE if sides[0].solver == sides[1].solver else rounds
        found = _in_turn(sides, [(seconds,)] * times, result["absent"])
        if found:
            ours, theirs = ([answer["rate"] for answer in answers] for answers in found)
            result[name] = compared({"ours": ours, "theirs": theirs}, "ours", "theirs")
    progress("NashConv", len(PAIRS) / steps)
    found = _in_turn(LONG, [(long, seed) for seed in range(seeds)], result["absent"])
    if found:
        ours, theirs = ([answer["nash_conv"] for answer in answers] for answers in found)
        ratio = median(theirs) / median(ours)
        result["nash_conv"] = {"ours": summary_of(ours), "theirs": summary_of(theirs), "ratio": ratio, "seconds": long}
    return result


def _in_turn(
    sides: Sequence[Side], requests: Sequence[tuple[float, ...]], absent: dict[str, str]
) -> list[list[Results]] | None:
    """Return the answers of each side to all requests, asked in turn; None if a side is absent."""
    with ExitStack() as stack:
        running: list[MeasuredProcess] = []
        for side in sides:
            try:
                running.append(_start(side))
            except NotInstalled as error:
                absent[side.solver.partition(" ")[0]] = f"{error}; the extra [peers] has it"
                return None
            stack.callback(running[-1].close)
        answers: list[list[Results]] = [[] for _ in running]
        for request in requests:
            for process, received in zip(running, answers, strict=True):
                received.append(process.measure(*request))
        return answers


def _start(side: Side) -> MeasuredProcess:
    arguments = [side.solver, side.game, str(side.workers), ",".join(map(str, measured_cores()))]
    return MeasuredProcess(
        side.solver, [sys.executable, "-P", "-W", "ignore", "-m", solvers.__name__, *arguments], LIMIT
    )
