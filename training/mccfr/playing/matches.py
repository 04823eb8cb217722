"""Matches of two strategies: every deal is played from both seats, so that the better cards decide nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from ....envs import BadParameter, UnknownName
from ....envs.fields import Array
from ....envs.poker.game import PokerGame
from ....envs.poker.tree import DECISION, FOLD, STREET
from ..solving.exact import Strategy
from .estimate import Estimate, OnProgress, measure_parts, no_progress
from .holdings import Board, Holdings
from .ranges import folds, probabilities, raises
from .resolving import Resolver
from .rollout import Nodes, duel, expected, nodes_of

BOTS = ("uniform", "call", "fold", "allin")
"""Opponents that need no training: all actions alike; check and call; check and fold; the largest raise, else call."""
REMEMBERED = 16
"""Decisions."""
BLOCK = 4096
"""Deals that a thread plays at once."""
PLAYERS = 2


class MatchPlayer(Protocol):
    """Decides in one seat or the other."""

    def acts(self, node: int, board: Board, hand: int) -> Array:
        """Return `(actions,)` probabilities."""


class StrategyPlayer:
    """A `MatchPlayer` that follows a strategy.

    Args:
        game: The game.
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
    """A `MatchPlayer` that thinks again at every decision, but once only if it is asked again at once."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolve = lru_cache(REMEMBERED)(resolver.resolve)

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
    """Return what one strategy wins of another per hand in a game whose deals are known, as the mean of both seats."""
    deals = game.deals
    assert deals is not None
    nodes, value = nodes_of(game), np.zeros(len(game.tree.kind))
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
    """Return what one strategy wins of another per hand, from hands that are played.

    Args:
        game: The game.
        one: `(entries,)` probabilities.
        other: Likewise.
        holdings: The game's hands.
        hands: Hands to play, two for each deal.
        seed: Seed of the deals; the result does not depend on the number of threads.
        threads: How many blocks of deals are played at once.
        on_progress: Is told the share that is done.

    Raises:
        BadParameter: The number of hands is odd, or less than four.
    """
    nodes, deals = nodes_of(game), deals_of(hands)

    def play(block: int) -> Array:
        random = np.random.default_rng((seed, block))
        buckets, signs = _dealt(holdings, min(BLOCK, deals - block * BLOCK), random)
        results = np.zeros(len(signs))
        state = random.integers(1 << 63, size=1, dtype=np.uint64)
        duel(nodes, one, other, buckets, signs, state, results)
        return results

    return Estimate.of(measure_parts(play, -(-deals // BLOCK), threads, on_progress), PLAYERS)


def deals_of(hands: int) -> int:
    """Return the number of deals that so many hands take.

    Raises:
        BadParameter: The number is odd, or less than four: one deal says nothing about how far the mean may be off.
    """
    if hands < 2 * PLAYERS or hands % PLAYERS:
        least = max(2 * PLAYERS, hands + hands % PLAYERS)
        raise BadParameter(
            f"every deal is played from both seats, so the number of hands must be an even number from 4 on, "
            f"got {hands}: {least} would do"
        )
    return hands // PLAYERS


def _dealt(holdings: Holdings, deals: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Return `(deals, streets, 2)` buckets and `(deals, results)` signs; where drawn hands clash, more are drawn."""
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
    """Return what one player wins of another per hand, where they decide as they go; other arguments as in `match`.

    What a deal is worth after each action is guessed, and what the action that is drawn brings beyond the mean of all
    that might have been is taken out as luck (Burch et al., 2018). Any guess leaves the mean what it is.

    Not for liar's dice: its showdowns have more than one result.

    Args:
        game: The game.
        one: Decides.
        other: Likewise.
        holdings: The game's hands.
        hands: Hands to play, two for each deal.
        guess: `(entries,)` probabilities near those of both: hands are worth what they win if both follow them.
        seed: Seed of the deals.
        threads: How many hands are played at once.
        on_progress: Is told the share that is done.

    Raises:
        BadParameter: The number of hands is odd, or less than four.
    """
    nodes = nodes_of(game)

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
    """What both hold, what both will see, and whether player 0 wins (1) or loses (-1) if all is shown."""

    hands: tuple[int, int]
    board: Board
    sign: float


def _worth(nodes: Nodes, strategy: Strategy, holdings: Holdings, deal: Deal) -> Array:
    """Return `(nodes,)` what a deal is worth to player 0 everywhere if both follow a strategy."""
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
    """Play a deal; return what player 0 wins, but for luck."""
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
