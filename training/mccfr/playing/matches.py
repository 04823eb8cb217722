"""Matches of two strategies. Every deal is played from both seats, so that better cards favor nobody."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from ....envs import BadParameter, UnknownName
from ....envs.fields import Array
from ....envs.poker.game import PokerGame
from ....envs.poker.tree import DECISION, FOLD, STREET
from ..solving.exact import Strategy
from ..solving.public_tree import TreeNodes, tree_nodes
from .estimate import Estimate, OnProgress, measure_parts, no_progress
from .holdings import Board, Holdings
from .ranges import folds, probabilities, raises
from .resolving import Resolver
from .rollout import duel, expected

BOTS = ("uniform", "call", "fold", "allin")
"""Opponents without training: uniform random; check and call; check and fold; the largest raise, else call."""
CACHED = 16
"""The most resolved decisions that a player keeps."""
BLOCK = 4096
"""Deals per part of a match."""
PLAYERS = 2


class MatchPlayer(Protocol):
    """Chooses actions in either seat."""

    def acts(self, node: int, board: Board, hand: int) -> Array:
        """Return `(actions,)` probabilities."""


class StrategyPlayer:
    """A `MatchPlayer` that follows a strategy.

    Args:
        strategy: `(entries,)` probabilities.
        holdings: The game's hands.
    """

    def __init__(self, game: PokerGame, strategy: Strategy, holdings: Holdings) -> None:
        self._game, self._strategy, self._holdings = game, strategy, holdings

    def acts(self, node: int, board: Board, hand: int) -> Array:
        """Return `(actions,)` probabilities."""
        bucket = self._holdings.buckets(int(self._game.tree.player[node]), board)[hand : hand + 1]
        found: Array = probabilities(self._game, self._strategy, node, bucket)[0]
        return found


class ResolvingPlayer:
    """A `MatchPlayer` that resolves every decision, and caches the last ones."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolve = lru_cache(CACHED)(resolver.resolve)

    def acts(self, node: int, board: Board, hand: int) -> Array:
        """Return `(actions,)` probabilities."""
        found: Array = self._resolve(node, board).probabilities[hand]
        return found


def bot(game: PokerGame, name: str) -> Strategy:
    """Return the strategy of one of `BOTS`.

    Raises:
        UnknownName: There is no such bot.
    """
    if name not in BOTS:
        raise UnknownName("opponent", name, BOTS)
    strategy = np.zeros(game.entries)
    for node in map(int, np.flatnonzero(game.tree.kind == DECISION)):
        shares = _shares(game, node, name)
        buckets = np.arange(game.buckets[game.tree.street[node]])
        stride = int(game.tree.width[game.tree.street[node], game.tree.player[node]])
        strategy[game.entry(node, 0) + buckets[:, None] * stride + np.arange(len(shares))] = shares
    return strategy


def _shares(game: PokerGame, node: int, name: str) -> Array:
    degree = int(game.tree.degree[node])
    if name == "uniform":
        return np.full(degree, 1 / degree)
    folding = [folds(game, node, action) for action in range(degree)]
    raising = [raises(game, node, action) for action in range(degree)]
    if name == "allin" and any(raising):
        chips = [action.chips for action in game.tree.actions_of(node)]
        largest: Array = np.eye(degree)[int(np.argmax(chips))]
        return largest
    passive = [not fold and not bet for fold, bet in zip(folding, raising, strict=True)]
    wanted = np.array(folding if name == "fold" and any(folding) else passive, np.float64)
    wanted /= wanted.sum()
    return wanted


def exact_match(game: PokerGame, one: Strategy, other: Strategy) -> Estimate:
    """Return the winnings of one strategy against another per hand, the mean over all deals and both seats."""
    deals = game.deals
    assert deals is not None
    nodes, value = tree_nodes(game), np.zeros(len(game.tree.kind))
    won = 0.0
    for bucket, sign in zip(deals.bucket, deals.sign, strict=True):
        expected(nodes, one, other, bucket, sign, 0, len(value), value)
        won += float(value[0])
        expected(nodes, other, one, bucket, sign, 0, len(value), value)
        won -= float(value[0])
    return Estimate(won / (2 * len(deals.sign)))


def match(
    game: PokerGame,
    one: Strategy,
    other: Strategy,
    holdings: Holdings,
    hands: int,
    *,
    seed: int = 0,
    threads: int = 1,
    on_progress: OnProgress = no_progress,
) -> Estimate:
    """Return the winnings of one strategy against another per hand, estimated by playing hands.

    Args:
        one: `(entries,)` probabilities.
        other: The same for the opponent.
        holdings: The game's hands.
        hands: Hands to play, two for each deal.
        seed: Seed of the deals; the result does not depend on the number of threads.
        threads: How many blocks of deals are played at once.
        on_progress: Called with the share that is done.

    Raises:
        BadParameter: The number of hands is odd, or less than four.
    """
    nodes, deals = tree_nodes(game), deals_of(hands)

    def play(block: int) -> Array:
        random = np.random.default_rng((seed, block))
        buckets, signs = _dealt(holdings, min(BLOCK, deals - block * BLOCK), random)
        results = np.zeros(len(signs))
        state = random.integers(1 << 63, size=1, dtype=np.uint64)
        duel(nodes, one, other, buckets, signs, state, results)
        return results

    return Estimate.of(measure_parts(play, -(-deals // BLOCK), threads, on_progress), PLAYERS)


def deals_of(hands: int) -> int:
    """Return the number of deals for so many hands.

    Raises:
        BadParameter: The number is odd, or less than four: one deal gives no confidence interval.
    """
    if hands < 2 * PLAYERS or hands % PLAYERS:
        least = max(2 * PLAYERS, hands + hands % PLAYERS)
        raise BadParameter(
            f"the number of hands must be even and at least 4, as every deal is played from both seats, got {hands}: "
            f"use {least}"
        )
    return hands // PLAYERS


def _dealt(holdings: Holdings, deals: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Return `(deals, streets, 2)` buckets and `(deals, results)` signs. Deals whose hands clash are drawn again."""
    anything = np.ones((PLAYERS, len(holdings.names)))
    drawn = [holdings.deals((), anything, deals, random)]
    while (missing := deals - sum(len(sample.sign) for sample in drawn)) > 0:
        drawn.append(holdings.deals((), anything, missing, random))
    return np.concatenate([sample.bucket for sample in drawn]), np.concatenate([sample.sign for sample in drawn])


def player_match(
    game: PokerGame,
    one: MatchPlayer,
    other: MatchPlayer,
    holdings: Holdings,
    hands: int,
    *,
    guess: Strategy,
    seed: int = 0,
    threads: int = 1,
    on_progress: OnProgress = no_progress,
) -> Estimate:
    """Return the winnings of one player against another per hand; arguments as in `match`.

    After each action, the difference of the deal's estimated value and its mean over all actions is subtracted as luck
    (AIVAT, Burch et al., 2018). The estimates do not bias the mean.

    This is not for liar's dice, whose showdowns have more than one result.

    Args:
        other: The same for the opponent.
        holdings: The game's hands.
        hands: Hands to play, two for each deal.
        guess: `(entries,)` probabilities close to those of both players, for the estimated values.
        seed: Seed of the deals.
        threads: How many hands are played at once.
        on_progress: Called with the share that is done.

    Raises:
        BadParameter: The number of hands is odd, or less than four.
    """
    nodes = tree_nodes(game)

    def play(pair: int) -> Array:
        random = np.random.default_rng((seed, pair))
        hand, board = holdings.draw(random)
        against = int(random.choice(np.flatnonzero(holdings.against(0, hand, board))))
        sign = float(holdings.equities(0, hand, board, random)[against])
        deal = Deal((hand, against), board, sign)
        worth = _worth(nodes, guess, holdings, deal)
        first = _played(game, holdings, (one, other), deal, worth, random)
        second = _played(game, holdings, (other, one), deal, worth, random)
        return np.array([(first - second) / PLAYERS])

    return Estimate.of(measure_parts(play, deals_of(hands), threads, on_progress), PLAYERS)


class Deal(NamedTuple):
    """Both hands, the complete board, and whether player 0 wins (1) or loses (-1) a showdown."""

    hands: tuple[int, int]
    board: Board
    sign: float


def _worth(nodes: TreeNodes, strategy: Strategy, holdings: Holdings, deal: Deal) -> Array:
    """Return `(nodes,)` the values of all nodes to player 0 for a deal if both follow a strategy."""
    boards = [deal.board[:shown] for shown in holdings.shown]
    held = [[holdings.buckets(player, board)[deal.hands[player]] for player in range(PLAYERS)] for board in boards]
    worth = np.empty(len(nodes.kind))
    expected(nodes, strategy, strategy, np.array(held, np.int32), np.array([deal.sign], np.int8), 0, len(worth), worth)
    return worth


def _played(
    game: PokerGame,
    holdings: Holdings,
    players: tuple[MatchPlayer, MatchPlayer],
    deal: Deal,
    worth: Array,
    random: np.random.Generator,
) -> float:
    """Play a deal; return the winnings of player 0 without luck."""
    tree, node, luck = game.tree, 0, 0.0
    while tree.kind[node] in {DECISION, STREET}:
        action = 0
        if tree.kind[node] == DECISION:
            who = int(tree.player[node])
            board = deal.board[: holdings.shown[tree.street[node]]]
            acts = players[who].acts(node, board, deal.hands[who])
            acts = acts / acts.sum()
            action = int(random.choice(len(acts), p=acts))
            below = worth[[tree.below(node, each) for each in range(len(acts))]]
            luck += float(below[action] - acts @ below)
        node = tree.below(node, action)
    if tree.kind[node] == FOLD:
        return float(-tree.paid[node, 0] if tree.player[node] == 0 else tree.paid[node, 1]) - luck
    return float(tree.paid[node].min()) * deal.sign - luck
