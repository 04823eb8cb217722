"""The strategy of a solver's run, from its newest checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....backends import usable_cores
from ....envs import BadParameter, Names, Task, families, find
from ....envs.poker.cards.parallel import Progress, no_progress
from ....envs.poker.game import PokerGame
from ....envs.poker.task import game_of
from ....envs.specs import split_spec
from ....envs.trust import Vouch, check_trusted, refuse
from ...checkpoint_choice import LAST
from ...runs.checkpoint import Checkpoint, load_newest
from ...runs.folder import CHECKPOINTS, METADATA, RunFolder
from ..fingerprints import betting_fingerprint, cards_fingerprint, check_fingerprints, table_of
from ..solving.exact import Strategy, average_strategy
from .holdings import Holdings, SmallHoldings


@dataclass(frozen=True)
class Trained:
    """A trained strategy.

    Attributes:
        run: The run's name.
        strategy: `(entries,)` probabilities, the average strategy.
        marks: What it depends on, see `fingerprints`.
        skipped: A sentence for each newer checkpoint that is damaged.
    """

    run: str
    task: Task
    strategy: Strategy
    iterations: int
    marks: Mapping[str, str]
    skipped: tuple[str, ...] = ()

    @property
    def game(self) -> PokerGame:
        return game_of(self.task)


def learned(run: RunFolder, name: str) -> str:
    """Return the spec of the task that a run was trained on; empty without a checkpoint of a solver of that game.

    Args:
        name: A game of poker's kind, such as `holdem`.

    Raises:
        RunFolderError: The run cannot be read.
        BadParameter: The parameters of its game are not `key=value`.
    """
    config = run.metadata().get("config", {})
    spec = str(config.get("task", ""))
    known = config.get("trainer") == "mccfr" and run.saved and split_spec(spec)[0] == name
    return spec if known else ""


def trained(run: RunFolder, vouch: Vouch = refuse, choice: str = LAST) -> Trained:
    """Return the strategy of a run.

    Args:
        vouch: Asked whether to trust a task that names a file.
        choice: Of which checkpoint: `last`, `best` or a number of steps.

    Raises:
        NotTrusted: `vouch` refused the task.
        BadParameter: The run is not of a solver, the bet sizes of its task have changed, or its table is invalid.
        NoCheckpoint: It has no checkpoint that verifies.
    """
    config = run.metadata().get("config", {})
    if config.get("trainer") != "mccfr":
        raise BadParameter(f"{run.name} must be a run of the solver, and was trained by {config.get('trainer')}")
    spec = str(config.get("task", ""))
    if split_spec(spec)[0] not in families():  # it would import code that the file names
        raise BadParameter(f"{run.name} must be of a built-in game, and is of the task {spec!r}")
    check_trusted("task", spec, Names.TASK, str(run.path / METADATA), vouch)
    task = find(spec)

    def take(found: Checkpoint) -> None:
        table_of(found.tensors, game_of(task), task.spec)

    found = load_newest(run.entry(CHECKPOINTS), {"task": task.spec, "trainer": "mccfr"}, {"data": dict}, take, choice)
    data = found.data["data"]
    marks = data.get("marks", {})
    check_fingerprints(marks, betting_fingerprint(game_of(task)), task.spec)
    strategy = average_strategy(game_of(task), table_of(found.tensors, game_of(task), task.spec))
    return Trained(run.name, task, strategy, int(data["iterations"]), marks, found.skipped)


def holdings_of(found: Trained, on_progress: Progress = no_progress) -> Holdings:
    """Return the hands of the game that was trained.

    Args:
        found: The trained strategy.
        on_progress: Called with what is built if the cache has no card abstraction, and the share that is done.

    Raises:
        BadParameter: The card buckets in the cache are not those of the training.
    """
    game = found.game
    if game.deals is not None:
        return SmallHoldings(game)
    from ....envs.poker.cards.abstraction import card_abstraction
    from .card_holdings import CardHoldings

    _, flop, turn, river = game.buckets
    abstraction = card_abstraction((flop, turn, river), workers=usable_cores(), progress=on_progress)
    check_fingerprints(found.marks, cards_fingerprint(abstraction), found.task.spec)
    return CardHoldings(abstraction.tables)
