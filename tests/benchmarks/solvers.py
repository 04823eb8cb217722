"""The program that `poker` measures: it runs one solver for the requested time.

Arguments: the solver, the game, the number of workers and the cores. Then each line of standard input is a number of
seconds and, to restart, a seed. Each line of standard output is a JSON object.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Protocol

from pac.training.bench.turns import rate_of

from .peer import serve

HOLDEM = (
    "universal_poker(betting=nolimit,numPlayers=2,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,numSuits=4,numRanks=13,"
    "numHoleCards=2,numBoardCards=0 3 1 1,stack=20000 20000,bettingAbstraction=fcpa)"
)
GAMES = {"leduc": "leduc_poker", "liars_dice": "liars_dice", "holdem:betting=fcpa": HOLDEM}
"""The names of our tasks in OpenSpiel."""
BUCKETS = (50, 50, 50)
STRETCH = 200
"""Iterations of another solver between two readings of the clock."""


class Solver(Protocol):
    """The interface of a measured solver."""

    def begin(self, seed: int) -> None:
        """Restart with an empty strategy."""

    def iterate(self) -> int:
        """Run a few iterations, each with a traversal per player, and return their number."""

    def nash_conv(self) -> float | None:
        """Return the NashConv of the average strategy; None if it cannot be computed."""


class Ours:
    """Our trainer with worker processes."""

    def __init__(self, game: str, workers: int) -> None:
        self._spec, self._workers = game, workers
        self._trainer: Any = None
        self._running = ExitStack()
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Stop the workers, and start new ones with empty tables."""
        from pac.envs import find
        from pac.training.bench.alone import started

        self._running.close()
        self._trainer, _ = self._running.enter_context(
            started("mccfr", find(self._spec), {}, self._workers, "shm", seed=seed, workers=self._workers)
        )

    def iterate(self) -> int:
        """Run some batches on every worker."""
        before = self._trainer.iterations
        self._trainer.iterate()
        return int(self._trainer.iterations - before)

    def nash_conv(self) -> float | None:
        """Return the final NashConv."""
        found: float | None = self._trainer.finish().get("nash_conv")
        return found


class OursExact:
    """Our CFR+ on the whole tree."""

    def __init__(self, game: str, _workers: int) -> None:
        self._spec = game
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Restart with an empty strategy; CFR+ is not random."""
        from pac.envs import find
        from pac.envs.poker.task import game_of
        from pac.training.mccfr.solving.full import Cfr

        del seed
        self._game = game_of(find(self._spec))
        self._cfr = Cfr(self._game, "cfr+")

    def iterate(self) -> int:
        """Run iterations for some milliseconds."""
        self._cfr.iterate(STRETCH)
        return STRETCH

    def nash_conv(self) -> float | None:
        """Return the NashConv of the average strategy."""
        from pac.training.mccfr.solving.exact import nash_conv

        return nash_conv(self._game, self._cfr.average())


class OpenSpiel:
    """OpenSpiel's solvers in C++.

    Args:
        game: Our task.
        make: Returns a solver of a game, given a seed.
        stretch: Iterations between two readings of the clock.
    """

    def __init__(self, game: str, make: Callable[[Any, Any, int], Any], stretch: int) -> None:
        import pyspiel

        self._spiel, self._make, self._stretch = pyspiel, make, stretch
        self._game = pyspiel.load_game(GAMES[game])
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Create a new solver."""
        self._solver = self._make(self._spiel, self._game, seed + 1)

    def iterate(self) -> int:
        """Run some iterations."""
        step = getattr(self._solver, "run_iteration", None) or self._solver.evaluate_and_update_policy
        for _ in range(self._stretch):
            step()
        return self._stretch

    def nash_conv(self) -> float | None:
        """Return the NashConv of the average policy; None if the game is large."""
        if self._game.get_type().short_name == "universal_poker":
            return None
        # States that were never visited have no policy; True plays them uniformly.
        return float(self._spiel.nash_conv(self._game, self._solver.average_policy(), True))


class DonkSolver:
    """donksolver's heads-up preset, with 100 big blinds, in its fastest mode."""

    def __init__(self, _game: str, workers: int) -> None:
        import donksolver

        from pac.envs.poker.cards.store import cache_folder

        self._donk, self._threads = donksolver, workers
        self._path = cache_folder() / f"donksolver-{'-'.join(map(str, BUCKETS))}.dab"
        if not self._path.exists():
            unfinished = self._path.with_suffix(f".{os.getpid()}")
            donksolver.Abstraction.build(BUCKETS, threads=workers).save(str(unfinished))
            unfinished.replace(self._path)
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Create a new solver."""
        solve = self._donk.Solve(seed=seed + 1, hogwild=True)
        self._solver = self._donk.Solver.nlhe(self._donk.preset("hu", stack_bb=100), str(self._path), solve)

    def iterate(self) -> int:
        """Run iterations for some tens of milliseconds."""
        self._solver.run(10 * STRETCH, threads=self._threads)
        return 10 * STRETCH

    def nash_conv(self) -> float | None:
        """Return None: donksolver has no best response for hold'em."""
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


def main() -> None:
    """Measure the solver that the arguments name."""
    name, game, workers, cores = sys.argv[1:]

    def make() -> Callable[..., dict[str, float | None]]:
        solver = SOLVERS[name](game, int(workers))

        def measured(seconds: float, seed: float | None = None) -> dict[str, float | None]:
            """Return the iterations per second over some seconds, and the NashConv afterwards."""
            if seed is not None:
                solver.begin(int(seed))
            return {"rate": rate_of(solver.iterate, seconds), "nash_conv": solver.nash_conv()}

        measured(0.2)
        return measured

    serve(cores, make)


if __name__ == "__main__":
    main()
