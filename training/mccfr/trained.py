"""What a solver's run has learned, from its newest checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from ...backends import usable_cores
from ...envs import BadParameter, Task, find
from ...envs.poker.cards.parallel import Progress, unheard
from ...envs.poker.game import Game
from ...envs.poker.task import game_of
from ..checkpoint import load_newest
from ..runs import RunFolder
from .exact import Strategy, average_strategy
from .holdings import Holdings, SmallHoldings


@dataclass(frozen=True)
class Trained:
    """A strategy that was trained.

    Attributes:
        run: The run's name.
        task: What it was trained on.
        strategy: `(entries,)` probabilities, the average strategy.
        iterations: Iterations that it took.
        skipped: A sentence for each newer checkpoint that does not verify.
    """

    run: str
    task: Task
    strategy: Strategy
    iterations: int
    skipped: tuple[str, ...] = ()

    @property
    def game(self) -> Game:
        """The game of the task."""
        return game_of(self.task)


def trained(run: RunFolder) -> Trained:
    """Return what a run has learned.

    Raises:
        BadParameter: The run is none of a solver.
        NoCheckpoint: It has no checkpoint that verifies.
    """
    config = run.card().get("config", {})
    if config.get("trainer") != "mccfr":
        raise BadParameter(f"a run of the solver was expected, and {run.name} was trained by {config.get('trainer')}")
    task = find(str(config["task"]))
    found = load_newest(run.checkpoints)
    strategy = average_strategy(game_of(task), found.tensors["table"])
    return Trained(run.name, task, strategy, int(found.data["data"]["iterations"]), found.skipped)


def holdings_of(game: Game, heard: Progress = unheard) -> Holdings:
    """Return the hands of a game.

    Args:
        game: The game.
        heard: Is told what is built for hold'em if the cache has no card abstraction, and the share that is done.
    """
    if game.deals is not None:
        return SmallHoldings(game)
    from ...envs.poker.cards.abstraction import card_abstraction
    from .card_holdings import CardHoldings

    _, flop, turn, river = game.buckets
    return CardHoldings(card_abstraction((flop, turn, river), workers=usable_cores(), progress=heard).tables)
