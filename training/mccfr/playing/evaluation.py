"""Evaluates a trained strategy against another one and against a best responder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ....backends import usable_cores
from ....envs import BadParameter, PacError, Task, UnknownName, find
from ....envs.poker.cards.parallel import Progress, no_progress
from ....envs.poker.game import PokerGame
from ....envs.poker.live import rules_of
from ....envs.trust import Vouch, doubt_about, refuse
from ...checkpoint_choice import LAST
from ...runs.folder import RunFolder
from ..solving.exact import Strategy, nash_conv
from .estimate import Estimate
from .holdings import Holdings
from .local_best_response import local_best_response
from .matches import BOTS, ResolvingPlayer, StrategyPlayer, bot, exact_match, match, player_match
from .resolving import Resolver, ResolverSettings
from .trained import Trained, holdings_of, learned, trained

RESPONSES = 500
"""One of so many hands of a match is also played by a local best responder, which takes ten thousand times as long."""


@dataclass(frozen=True)
class Evaluation:
    """How good a strategy is. Winnings are chips per hand, the mean of both seats.

    Attributes:
        run: The run's name.
        task: The task that it was trained on.
        iterations: Iterations of the training.
        against: The opponent.
        resolved: Whether it resolved its decisions.
        unit: Chips of a big blind; 1 if there are no blinds.
        hands_played: Hands played against the opponent; 0 if all deals were enumerated instead.
        won: Winnings against the opponent.
        nash_conv: The sum of the gains of best responses, twice the exploitability; None for large games.
        local_best_response: Winnings of a local best responder, a lower bound of the exploitability; None for small
            games, whose exploitability is known, and with resolving.
        skipped: A sentence for each newer checkpoint that is damaged.
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
        """Return JSON data; an estimate has its mean, 95 % margin and hands, 0 hands if nothing was sampled."""
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
    choice: str = LAST,
    vouch: Vouch = refuse,
    on_progress: Progress = no_progress,
) -> Evaluation:
    """Evaluate the strategy of a run.

    Args:
        runs_dir: The folder with other runs.
        hands: Hands to play, if deals are not enumerated.
        against: One of `matches.BOTS`, or another run of the same game.
        resolver: Settings for resolving the decisions of the run's strategy; None to play the strategy itself.
        seed: Seed of the deals.
        choice: The run's checkpoint: `last`, `best` or a number of steps.
        vouch: Asked whether to trust a task that names a file.
        on_progress: Called with what is being done and the share that is done.

    Raises:
        NotTrusted: `vouch` refused the task of a run.
        BadParameter: The run is not of a solver, the opponent's run is of another game, a setting does not fit, or the
            number of hands to play is odd or less than four.
        UnknownName: There is no such opponent or setting.
        NoCheckpoint: A run has no checkpoint that verifies.
    """
    mine = trained(run, vouch, choice)
    other = _opponent(mine, runs_dir, against, vouch)
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
    """What to measure, see `evaluate`."""

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
    strategy = job.strategy
    if job.resolver is not None:
        strategy = job.resolver.strategy_with(lambda share: job.on_progress("resolving", share))
    return exact_match(job.game, strategy, job.other), nash_conv(job.game, strategy), None


def _by_playing(job: Measurement) -> Measured:
    """Play hands; without resolving, also play some hands with a local best responder."""
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


def _opponent(mine: Trained, runs_dir: Path, against: str, vouch: Vouch) -> Strategy:
    if against in BOTS:
        return bot(mine.game, against)
    runs = RunFolder.all(runs_dir)
    if against not in {run.name for run in runs} and not Path(against).is_dir():
        raise UnknownName("opponent", against, [*BOTS, *(run.name for run in runs if _plays(run, mine.task))])
    other = trained(RunFolder.find(runs_dir, against), vouch)
    if other.game is not mine.game:
        raise BadParameter(
            f"both runs must be of the same game, but {mine.run} was trained on {mine.task.spec} and {other.run} on "
            f"{other.task.spec}"
        )
    return other.strategy


def _plays(run: RunFolder, task: Task) -> bool:
    """Whether a run was trained on the game of a task; False if it cannot be read."""
    with suppress(PacError):
        spec = learned(run, task.name)
        return bool(spec) and not doubt_about(spec) and find(spec).values == task.values
    return False
