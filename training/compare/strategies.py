"""Two strategies of a poker game on the same deals: the information sets at which they differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...envs import BadParameter, UnknownName
from ...envs.fields import Array
from ...envs.poker.cards.notation import CLASSES
from ...envs.poker.cards.parallel import Progress, no_progress
from ...envs.poker.game import PokerGame
from ...envs.poker.tree import DECISION
from ...envs.trust import Vouch
from ..mccfr.pictures.grids import histories, shortened
from ..mccfr.playing.estimate import Estimate
from ..mccfr.playing.matches import BOTS, bot, exact_match, match
from ..mccfr.playing.trained import Trained, holdings_of, trained
from ..mccfr.solving.exact import Strategy, nash_conv
from ..mccfr.solving.public_tree import tree_nodes
from ..runs.folder import RunFolder
from .seeds import split_name

DEALS, HANDS = 1_000, 100_000
"""Deals and hands that are drawn of a game whose deals are not listed."""
LEAST = 1e-6
"""Histories that are reached more rarely are left out."""
MOST = 1_000
"""Information sets that are kept."""
PLAYERS = 2


@dataclass(frozen=True)
class Spot:
    """An information set at which two strategies differ.

    Attributes:
        history: The actions so far, in short.
        player: Who decides, from 0.
        hand: What the player holds, and the board.
        reach: How probable it is, as the mean over both strategies, each of which plays both seats.
        distance: The probability with which the strategies decide differently there: the total variation distance.
        actions: The probabilities of A and B by action.
    """

    history: str
    player: int
    hand: str
    reach: float
    distance: float
    actions: Mapping[str, tuple[float, float]]

    @property
    def weighted(self) -> float:
        """The distance, weighted by the reach."""
        return self.reach * self.distance


@dataclass(frozen=True)
class StrategyComparison:
    """Two strategies of a game.

    Attributes:
        names: A and B.
        iterations: Those of their trainings; 0 of a fixed strategy.
        deals: How many deals were looked at; all there are, if `exact`.
        won: B's winnings against A in chips per hand, the mean of both seats.
        nash_conv: The sums of the gains of best responses to each; None if the game is too large.
        distance: The sum of all weighted distances: how often per hand the two decide differently.
        spots: Those with the largest weighted distances first.
    """

    task: str
    names: tuple[str, str]
    iterations: tuple[int, int]
    exact: bool
    deals: int
    won: Estimate
    nash_conv: tuple[float, float] | None
    distance: float
    spots: Sequence[Spot]

    def plain(self) -> dict[str, Any]:
        """Return all of this for JSON."""
        return {
            "task": self.task,
            "policies": [
                {"name": name, "trainer": "mccfr" if count else name, "iterations": count}
                for name, count in zip(self.names, self.iterations, strict=True)
            ],
            "exact": self.exact,
            "deals": self.deals,
            "won": self.won._asdict(),
            "nash_conv": self.nash_conv,
            "distance": self.distance,
            "spots": [
                {
                    "history": spot.history,
                    "player": spot.player + 1,
                    "hand": spot.hand,
                    "reach": spot.reach,
                    "distance": spot.distance,
                    "weighted": spot.weighted,
                    "actions": {name: {"a": a, "b": b} for name, (a, b) in spot.actions.items()},
                }
                for spot in self.spots
            ],
        }


class RankedSpot(NamedTuple):
    """An information set, ordered by the weighted distance."""

    weighted: float
    node: int
    bucket: int
    mass: float
    distance: float


def compare_strategies(
    names: tuple[str, str], runs_dir: Path, vouch: Vouch, *, seed: int = 0, on_progress: Progress = no_progress
) -> StrategyComparison:
    """Compare two strategies on the same deals: all, or some that are drawn if they are not listed.

    Args:
        names: Runs, checkpoints of runs, or one of `matches.BOTS`.
        on_progress: Called with what is being done, and the share that is done.

    Raises:
        NotTrusted: `vouch` refused the task of a run.
        UnknownName: A name is neither of a run nor of a fixed strategy.
        BadParameter: They are of different games, or a run is not one of a solver.
        NoCheckpoint: A run has no checkpoint that verifies.
    """
    found = [None if name in BOTS else _trained(name, runs_dir, vouch) for name in names]
    known = [one for one in found if one is not None]
    first = known[0]
    if any(other.game is not first.game for other in known):
        tasks = " and ".join(f"{name} on {one.task.spec}" for name, one in zip(names, known, strict=True))
        raise BadParameter(f"both strategies must be of the same game, and they were trained: {tasks}")
    game = first.game
    one, other = (bot(game, name) if it is None else it.strategy for name, it in zip(names, found, strict=True))
    holdings, random = holdings_of(first, on_progress), np.random.default_rng(seed)
    sample = holdings.deals((), np.ones((PLAYERS, len(holdings.names))), DEALS, random)
    if holdings.exact:
        won = exact_match(game, other, one)
        gained = nash_conv(game, one), nash_conv(game, other)
    else:
        won, gained = match(game, other, one, holdings, HANDS, seed=seed), None
    distance, spots = spots_of(game, (one, other), sample.bucket, sample.weight, on_progress)
    return StrategyComparison(
        task=first.task.spec,
        names=names,
        iterations=(_iterations(found[0]), _iterations(found[1])),
        exact=holdings.exact,
        deals=len(sample.weight),
        won=won,
        nash_conv=gained,
        distance=distance,
        spots=spots,
    )


def _iterations(found: Trained | None) -> int:
    return found.iterations if found is not None else 0


def _trained(name: str, runs_dir: Path, vouch: Vouch) -> Trained:
    run, checkpoint = split_name(name)
    runs = {one.name for one in RunFolder.all(runs_dir)}
    if run not in runs and not Path(run).is_dir() and run != "latest":
        raise UnknownName("strategy", name, [*BOTS, *sorted(runs)])
    return trained(RunFolder.find(runs_dir, run), vouch, checkpoint)


def spots_of(
    game: PokerGame,
    strategies: tuple[Strategy, Strategy],
    buckets: Array,
    weights: Array,
    on_progress: Progress = no_progress,
) -> tuple[float, list[Spot]]:
    """Return the sum of the weighted distances, and the information sets with the largest ones.

    Args:
        buckets: `(deals, streets, 2)`, those of each deal.
        weights: `(deals,)`, the probability of each.
    """
    nodes, tree = tree_nodes(game), game.tree
    found: list[RankedSpot] = []
    total, largest = 0.0, 0.0
    waiting = [(0, np.stack([weights, weights]))]
    while waiting:
        node, reach = waiting.pop()
        first, street, player = int(tree.first[node]), int(tree.street[node]), int(tree.player[node])
        below = [int(child) for child in tree.child[first : first + int(tree.degree[node])]]
        if tree.kind[node] != DECISION:
            waiting += [(child, reach) for child in below]
            continue
        held = buckets[:, street, player]
        entries = (nodes.entry[node] + held * nodes.stride[node])[:, None] + np.arange(len(below))
        shares = np.stack([strategy[entries] for strategy in strategies])
        apart, mean = np.abs(shares[0] - shares[1]).sum(axis=1) / 2, reach.mean(axis=0)
        masses = np.bincount(held, mean)
        distances = np.zeros(len(masses))
        distances[held] = apart
        total += float((masses * distances).sum())
        for bucket in np.flatnonzero(masses * distances > largest / MOST).tolist():
            mass, distance = float(masses[bucket]), float(distances[bucket])
            found.append(RankedSpot(mass * distance, node, bucket, mass, distance))
        if len(found) > 4 * MOST:
            found = nlargest(MOST, found)
            largest = found[0][0]
        for action, child in reversed(list(enumerate(below))):
            after = reach * shares[:, :, action]
            if after.sum() > LEAST:
                waiting.append((child, after))
        on_progress("comparing", node / len(tree.kind))
    before, hands = histories(game), [_hands(game, street) for street in range(game.tree.streets)]
    spots = []
    for _, node, bucket, mass, distance in nlargest(MOST, found):
        entry, street = game.entry(node, bucket), int(tree.street[node])
        actions = {
            action.name: (float(strategies[0][entry + at]), float(strategies[1][entry + at]))
            for at, action in enumerate(tree.actions_of(node))
        }
        history = shortened(before(node))
        spots.append(Spot(history, int(tree.player[node]), hands[street][bucket], mass, distance, actions))
    return total, spots


def _hands(game: PokerGame, street: int) -> list[str]:
    """Return the name of each bucket of a street: the hand, a bar, and the board; or a number."""
    if game.deals is None:
        return [f"bucket {bucket + 1:,}" for bucket in range(game.buckets[street])] if street else list(CLASSES)
    names = [""] * game.buckets[street]
    for deal, held in enumerate(game.deals.hands.tolist()):
        board = f"|{game.boards[game.deals.board[deal]]}" if street else ""
        for player, hand in enumerate(held):
            names[game.deals.bucket[deal, street, player]] = game.hands[hand] + board
    return names
