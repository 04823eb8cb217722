"""Measures a strategy that was trained: against another one, and against who knows it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ....backends import usable_cores
from ....envs import BadParameter, PacError, Task, UnknownName
from ....envs.poker.cards.parallel import Progress, no_progress
from ....envs.poker.game import PokerGame
from ....envs.poker.live import rules_of
from ...runs.folder import RunFolder
from ..solving.exact import Strategy, nash_conv
from .estimate import Estimate
from .holdings import Holdings
from .local_best_response import local_best_response
from .matches import BOTS, ResolvingPlayer, StrategyPlayer, bot, exact_match, match, player_match
from .resolving import Resolver, ResolverSettings
from .trained import Trained, holdings_of, learned, trained

RESPONSES = 500
"""Of so many hands of a match, one is played against a local best response: it takes ten thousand times as long."""


@dataclass(frozen=True)
class Evaluation:
    """How good a strategy is; what is won is chips per hand, the mean of both seats.

    Attributes:
        run: Its run.
        task: What it was trained on.
        iterations: How long.
        against: Who it was measured against.
        resolved: Whether it thought again at its decisions.
        unit: Chips of a big blind; 1 where there are no blinds.
        hands_requested: Hands that were asked for.
        hands_played: Hands that were played against the opponent; 0 where all deals were gone through instead.
        won: What it wins of the opponent.
        nash_conv: What best responses gain against it together, twice the exploitability; None for large games.
        local_best_response: What a local best response wins of it, a lower bound of the exploitability; None for small
            games, whose exploitability is known, and where it thought again.
        skipped: What was wrong with newer checkpoints.
    """

    run: str
    task: str
    iterations: int
    against: str
    resolved: bool
    unit: int
    hands_requested: int
    hands_played: int
    won: Estimate
    nash_conv: float | None
    local_best_response: Estimate | None
    skipped: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON data; estimates are mean, margin of 95 % and hands, 0 hands where nothing was sampled."""
        response = self.local_best_response
        return asdict(self) | {
            "won": self.won._asdict(),
            "local_best_response": None if response is None else response._asdict(),
        }


def evaluate(
    run: RunFolder,
    runs_dir: Path,
    *,
    hands: int,
    against: str = "uniform",
    resolver: Mapping[str, Any] | None = None,
    seed: int = 0,
    on_progress: Progress = no_progress,
) -> Evaluation:
    """Measure what a run has learned.

    Args:
        run: The run.
        runs_dir: Where other runs are looked for.
        hands: Hands to play, where not all are gone through.
        against: One of `matches.BOTS`, or another run of the same game.
        resolver: Settings with which the run's strategy thinks again at its decisions; None if it does not.
        seed: Seed of the deals.
        on_progress: Is told what is done, and the share of it that is done.

    Raises:
        BadParameter: The run is none of a solver, the other one's game is another, a setting does not fit, or hands are
            played and their number is odd or less than four.
        UnknownName: There is no such opponent or setting.
        NoCheckpoint: A run has no checkpoint that verifies.
    """
    mine = trained(run)
    other = _opponent(mine, runs_dir, against)
    holdings = holdings_of(mine, on_progress)
    thinking = (
        None
        if resolver is None
        else Resolver(mine.game, mine.strategy, holdings, ResolverSettings.read("resolver", resolver))
    )
    measured = _exactly if holdings.exact else _by_playing
    won, gained, response = measured(
        Measurement(mine.game, mine.strategy, other, holdings, hands, thinking, seed, on_progress)
    )
    return Evaluation(
        run=mine.run,
        task=mine.task.spec,
        iterations=mine.iterations,
        against=against,
        resolved=thinking is not None,
        unit=rules_of(mine.task).unit,
        hands_requested=hands,
        hands_played=won.hands,
        won=won,
        nash_conv=gained,
        local_best_response=response,
        skipped=mine.skipped,
    )


class Measurement(NamedTuple):
    """What is to be measured; see `evaluate`."""

    game: PokerGame
    strategy: Strategy
    other: Strategy
    holdings: Holdings
    hands: int
    resolver: Resolver | None
    seed: int
    on_progress: Progress


Measured = tuple[Estimate, float | None, Estimate | None]


def _exactly(job: Measurement) -> Measured:
    """Go through all deals."""
    strategy = job.strategy
    if job.resolver is not None:
        strategy = job.resolver.strategy_with(lambda share: job.on_progress("thinking", share))
    return exact_match(job.game, strategy, job.other), nash_conv(job.game, strategy), None


def _by_playing(job: Measurement) -> Measured:
    """Play hands, and let a local best response play some, if its opponent does not think."""
    game, strategy, holdings = job.game, job.strategy, job.holdings
    threads = usable_cores()

    def on_progress(share: float) -> None:
        job.on_progress("playing", share)

    if job.resolver is not None:
        thinker = ResolvingPlayer(job.resolver)
        follower = StrategyPlayer(game, job.other, holdings)
        won = player_match(
            game,
            thinker,
            follower,
            holdings,
            job.hands,
            guess=strategy,
            seed=job.seed,
            threads=threads,
            on_progress=on_progress,
        )
        return won, None, None
    won = match(game, strategy, job.other, holdings, job.hands, seed=job.seed, threads=threads, on_progress=on_progress)
    response = local_best_response(
        game,
        strategy,
        holdings,
        max(2, job.hands // RESPONSES),
        seed=job.seed,
        threads=threads,
        on_progress=lambda share: job.on_progress("local best response", share),
    )
    return won, None, response


def _opponent(mine: Trained, runs_dir: Path, against: str) -> Strategy:
    """Return the strategy of a bot or of a run."""
    if against in BOTS:
        return bot(mine.game, against)
    runs = RunFolder.all(runs_dir)
    if against not in {run.name for run in runs} and not Path(against).is_dir():
        raise UnknownName("opponent", against, [*BOTS, *(run.name for run in runs if _plays(run, mine.task))])
    other = trained(RunFolder.find(runs_dir, against))
    if other.game is not mine.game:
        raise BadParameter(
            f"two runs of the same game were expected, and {mine.run} played {mine.task.spec}, "
            f"{other.run} {other.task.spec}"
        )
    return other.strategy


def _plays(run: RunFolder, task: Task) -> bool:
    """Whether a run has learned the game of a task; one that cannot be read has not."""
    with suppress(PacError):
        other = learned(run, task.name)
        return other is not None and other.values == task.values
    return False
