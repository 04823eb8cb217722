"""A trained strategy as an opponent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ....envs import BadParameter, PacError, Task
from ....envs.fields import Array
from ....envs.poker.cards.parallel import Progress, no_progress
from ....envs.poker.live import LiveHand
from ....envs.poker.tree import DECISION
from ...runs.folder import LATEST, RunFolder
from .holdings import Holdings
from .matches import MatchPlayer, ResolvingPlayer, StrategyPlayer
from .resolving import Resolver, ResolverSettings
from .trained import Trained, holdings_of, learned


class Opponent:
    """Plays dealt hands; a `pac.envs.poker.live.Policy`.

    Args:
        player: Chooses the actions.
        holdings: The game's hands.
    """

    def __init__(self, player: MatchPlayer, holdings: Holdings) -> None:
        self._player, self._holdings = player, holdings

    def __call__(self, hand: LiveHand, seat: int) -> Array:
        """Return probabilities of the actions at the node of the hand."""
        assert hand.node is not None
        return self._player.acts(hand.node, hand.board, self._holdings.number(hand.hands[seat]))


def opponent_of(
    found: Trained, resolver: Mapping[str, Any] | None = None, *, on_progress: Progress = no_progress
) -> Opponent:
    """Return an opponent that plays a trained strategy.

    Args:
        found: The trained strategy.
        resolver: Settings for resolving every decision; None to play the strategy itself.
        on_progress: Called with what takes long and the share that is done.

    Raises:
        UnknownName: A setting is unknown.
        BadParameter: A setting does not fit.
    """
    game, strategy = found.game, found.strategy
    thinking = None if resolver is None else ResolverSettings.read("resolver", resolver)
    holdings = holdings_of(found, on_progress)
    player: MatchPlayer = StrategyPlayer(game, strategy, holdings)
    if thinking is not None:
        player = ResolvingPlayer(Resolver(game, strategy, holdings, thinking))
    on_progress("loading", 1.0)
    node = int(np.flatnonzero(game.tree.kind == DECISION)[-1])
    hand, board = holdings.draw(np.random.default_rng(0))
    player.acts(node, board[: holdings.shown[game.tree.street[node]]], hand)
    return Opponent(player, holdings)


def run_for(task: Task, name: str, runs_dir: Path) -> RunFolder:
    """Return a run that was trained on a task's game.

    Args:
        task: The game; its parameters are the run's.
        name: A run's name or folder, or `latest`.
        runs_dir: Where runs are kept.

    Raises:
        BadParameter: There is none, or it was trained on another game.
    """
    advice = f"pac-tui run --task {task.spec} --headless --seconds {60 if task.name == 'holdem' else 10} trains one"
    if name != LATEST:
        run = RunFolder.find(runs_dir, name)
        if not learned(run, task.name):
            raise BadParameter(f"{run.name} has no checkpoint of a solver of {task.name}: {advice}")
        return run
    for run in reversed(RunFolder.all(runs_dir)):
        with suppress(PacError):  # a damaged run is skipped
            if learned(run, task.name):
                return run
    raise BadParameter(f"no run in {runs_dir} was trained on {task.name}: {advice}")
