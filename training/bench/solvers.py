"""One contestant of `poker`: a solver in a process of its own, measured for as long as it is told to.

Arguments: the contestant, the game, the number of workers, and the cores to keep to. Then each line of standard input
is a number of seconds, and a seed if it is to begin anew; each line of standard output is a JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

HOLDEM = (
    "universal_poker(betting=nolimit,numPlayers=2,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,numSuits=4,numRanks=13,"
    "numHoleCards=2,numBoardCards=0 3 1 1,stack=20000 20000,bettingAbstraction=fcpa)"
)
GAMES = {"leduc": "leduc_poker", "liars_dice": "liars_dice", "holdem:betting=fcpa": HOLDEM}
"""Our tasks in OpenSpiel."""
BUCKETS = (50, 50, 50)
STRETCH = 200
"""Iterations of a solver of others between two looks at the clock."""


class Solver(Protocol):
    """What is measured."""

    def begin(self, seed: int) -> None:
        """Forget everything."""

    def iterate(self) -> int:
        """Make a few iterations, each with a traversal for each player, and return how many."""

    def nash_conv(self) -> float | None:
        """Return how far the average strategy is from an equilibrium, if that can be told."""


class Ours:
    """Our trainer, its workers being processes over shared memory."""

    def __init__(self, game: str, workers: int) -> None:
        self._spec, self._workers = game, workers
        self._trainer: Any = None
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Start other workers on empty tables."""
        from ...backends import make
        from ...envs import find
        from ..mccfr.trainer import MCCFR
        from ..trainer import Context, Envs, Timer
        from ..trainers import dressed_for, trainer_settings

        self.close()
        task = find(self._spec)
        settings = trainer_settings("mccfr", task, {})
        dressed = dressed_for("mccfr", task, settings)

        def envs(count: int, slots: int) -> Envs:
            return make(dressed, count, "shm", workers=count, slots=slots, seed=seed, strict=True)

        self._trainer = MCCFR(Context(dressed, envs, settings, "cpu", seed, Timer()))
        self._trainer.start(self._workers)

    def iterate(self) -> int:
        """Let every worker make some batches."""
        before = self._trainer.iterations
        self._trainer.iterate()
        return int(self._trainer.iterations - before)

    def nash_conv(self) -> float | None:
        """Look once more."""
        found: float | None = self._trainer.finish().get("nash_conv")
        return found

    def close(self) -> None:
        """Stop the workers."""
        if self._trainer is not None:
            self._trainer.close()


class OursExact:
    """Our CFR+ on the whole tree."""

    def __init__(self, game: str, _workers: int) -> None:
        self._spec = game
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Forget everything; there is nothing random."""
        from ...envs import find
        from ...envs.poker.task import game_of
        from ..mccfr.solving.full import Cfr

        del seed
        self._game = game_of(find(self._spec))
        self._cfr = Cfr(self._game, "cfr+")

    def iterate(self) -> int:
        """Make some milliseconds of iterations."""
        self._cfr.iterate(STRETCH)
        return STRETCH

    def nash_conv(self) -> float | None:
        """Of the average strategy."""
        from ..mccfr.solving.exact import nash_conv

        return nash_conv(self._game, self._cfr.average())


class OpenSpiel:
    """OpenSpiel's solvers in C++.

    Args:
        game: Our task.
        make: Returns a solver of a game, given a seed.
        stretch: Iterations between two looks at the clock.
    """

    def __init__(self, game: str, make: Callable[[Any, Any, int], Any], stretch: int) -> None:
        import pyspiel

        self._spiel, self._make, self._stretch = pyspiel, make, stretch
        self._game = pyspiel.load_game(GAMES[game])
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Make another solver."""
        self._solver = self._make(self._spiel, self._game, seed + 1)

    def iterate(self) -> int:
        """Make some iterations."""
        for _ in range(self._stretch):
            self._step()
        return self._stretch

    def _step(self) -> None:
        step = getattr(self._solver, "run_iteration", None) or self._solver.evaluate_and_update_policy
        step()

    def nash_conv(self) -> float | None:
        """Of the average policy, if the game is small."""
        if self._game.get_type().short_name == "universal_poker":
            return None
        # States that were never visited have no policy: they are looked up, and played evenly.
        return float(self._spiel.nash_conv(self._game, self._solver.average_policy(), True))


class DonkSolver:
    """donksolver's heads-up preset, with 100 big blinds, in its fastest mode."""

    def __init__(self, _game: str, workers: int) -> None:
        import donksolver

        from ...envs.poker.cards.store import cache_folder

        self._donk, self._threads = donksolver, workers
        self._path = cache_folder() / f"donksolver-{'-'.join(map(str, BUCKETS))}.dab"
        if not self._path.exists():
            partial = self._path.with_suffix(f".{os.getpid()}")
            donksolver.Abstraction.build(BUCKETS, threads=workers).save(str(partial))
            Path(partial).replace(self._path)
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Make another solver."""
        solve = self._donk.Solve(seed=seed + 1, hogwild=True)
        self._solver = self._donk.Solver.nlhe(self._donk.preset("hu", stack_bb=100), str(self._path), solve)

    def iterate(self) -> int:
        """Make some tens of milliseconds of iterations."""
        self._solver.run(10 * STRETCH, threads=self._threads)
        return 10 * STRETCH

    def nash_conv(self) -> float | None:
        """None: it has no best response of hold'em."""
        return None


def open_spiel_sampled(game: str, _workers: int) -> Solver:
    """External sampling with simple averaging."""
    stretch = STRETCH if game == "leduc" else STRETCH // 10
    return OpenSpiel(game, lambda spiel, load, seed: spiel.ExternalSamplingMCCFRSolver(load, seed=seed), stretch)


def open_spiel_exact(game: str, _workers: int) -> Solver:
    """CFR+ on the whole tree."""
    return OpenSpiel(game, lambda spiel, load, _seed: spiel.CFRPlusSolver(load), 1)


SOLVERS: dict[str, Callable[[str, int], Solver]] = {
    "pac-tui": Ours,
    "pac-tui cfr+": OursExact,
    "open_spiel": open_spiel_sampled,
    "open_spiel cfr+": open_spiel_exact,
    "donksolver": DonkSolver,
}


def measured(solver: Solver, seconds: float) -> dict[str, float | None]:
    """Return the iterations per second over some seconds, and how good the strategy is then."""
    begun, made = time.perf_counter(), 0
    while (now := time.perf_counter()) - begun < seconds:
        made += solver.iterate()
    return {"rate": made / (now - begun), "nash_conv": solver.nash_conv()}


def main() -> None:
    """Make the contestant that the arguments name, and measure it whenever told to."""
    name, game, workers, cores = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a solver prints is no answer
    try:
        solver = SOLVERS[name](game, int(workers))
    except ImportError as error:
        print(json.dumps({"absent": str(error).partition("\n")[0]}), file=answers)
        return
    measured(solver, 0.2)
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        seconds, *seed = line.split()
        if seed:
            solver.begin(int(seed[0]))
        print(json.dumps(measured(solver, float(seconds))), file=answers)
    os._exit(0)  # workers are this process's group, which is ended


if __name__ == "__main__":
    main()
