"""Local best response (Lisy and Bowling, 2017): a lower bound of the exploitability of a strategy.

The responder knows the opponent's strategy and tracks the opponent's range. At each decision it takes the action that
is best if both players only check and call afterwards, except that the opponent may fold to the responder's raise. Its
winnings are a lower bound of those of a best response. It uses the bet sizes of the strategy's tree and exact hands. So
the result includes losses by card abstraction, but not those by bet abstraction.

The opponent's hand is not dealt. All actions of its range are followed, and showdowns are against the whole range. When
no decisions are left, the mean is over all remaining boards, or over a sample. So only the responder's hand and the
board are random. The hand's winnings if both players follow the strategy correlate with the result and are a control
variate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....envs import BadParameter
from ....envs.fields import Array
from ....envs.poker.game import PokerGame
from ....envs.poker.tree import FOLD, SHOWDOWN, STREET
from ..solving.public_tree import TreeNodes, tree_nodes
from .estimate import Estimate, OnProgress, measure_parts, no_progress
from .holdings import Board, Holdings
from .ranges import folds, probabilities, raises
from .rollout import played_below

PLAYERS = 2
PLAYED = 512
"""Deals with which the control variate of a hand is computed, in each seat."""


class Seat(NamedTuple):
    """The responder, its hand and the complete board."""

    player: int
    hand: int
    board: Board


def local_best_response(
    game: PokerGame,
    strategy: Array,
    holdings: Holdings,
    hands: int,
    *,
    seed: int = 0,
    threads: int = 1,
    on_progress: OnProgress = no_progress,
) -> Estimate:
    """Return the winnings of a local best responder against a strategy, the mean of both seats, in chips per hand.

    Args:
        strategy: `(entries,)` probabilities.
        holdings: The game's hands; if they are `exact`, nothing is sampled.
        hands: Hands to play; two at a time, one from each seat with the same cards.
        seed: Seed of the cards; the result does not depend on the number of threads.
        threads: How many hands are played at once.
        on_progress: Called with the share that is done.

    Raises:
        BadParameter: In this game players cannot check and call to the end.
    """
    if game.tree.result.any():
        raise BadParameter(f"a local best responder checks and calls to the end, which is impossible in {game.name}")
    if holdings.exact:
        return Estimate(_exactly(game, strategy, holdings))

    nodes = tree_nodes(game)

    def both(pair: int) -> Array:
        random = np.random.default_rng((seed, pair))
        hand, board = holdings.draw(random)
        seats = [Seat(player, hand, board) for player in range(PLAYERS)]
        won = sum(LocalResponder(game, strategy, holdings, seat, random).wins() for seat in seats)
        luck = sum(_worth(nodes, strategy, holdings, seat, random) for seat in seats)
        return np.array([[won / PLAYERS, luck / PLAYERS]])

    won, luck = measure_parts(both, max(2, hands // PLAYERS), threads, on_progress).T
    return Estimate.of(won, PLAYERS, luck)


def _worth(nodes: TreeNodes, strategy: Array, holdings: Holdings, seat: Seat, random: np.random.Generator) -> float:
    """Return a hand's winnings on its board if both follow the strategy. The mean over hands and seats is 0."""
    own, other = np.zeros(len(holdings.names)), holdings.against(seat.player, seat.hand, seat.board)
    own[seat.hand] = 1
    ranges = np.array([own, other] if seat.player == 0 else [other, own], np.float64)
    deals = holdings.deals(seat.board, ranges, PLAYED, random)
    won = np.empty((len(deals.hands), 1))
    state = random.integers(1 << 62, size=1, dtype=np.uint64)
    played_below(nodes, strategy, deals.bucket, deals.sign, np.zeros(1, np.int64), state, won)
    return float(deals.weight @ won[:, 0]) * (1 - 2 * seat.player)


def _exactly(game: PokerGame, strategy: Array, holdings: Holdings) -> float:
    random = np.random.default_rng(0)
    won, weights = 0.0, 0.0
    for board in holdings.boards(game.tree.streets - 1):
        for hand in range(len(holdings.names)):
            for player in range(PLAYERS):
                weight = float(holdings.against(player, hand, board).sum())
                if weight:
                    seat = Seat(player, hand, board)
                    won += weight * LocalResponder(game, strategy, holdings, seat, random).wins()
                    weights += weight
    return won / weights


class LocalResponder:
    """A local best responder with one hand.

    Args:
        strategy: `(entries,)` probabilities by which the opponent acts.
        holdings: The game's hands.
        seat: The responder and the cards.
        random: Draws remaining cards; not used if the holdings are `exact`.
    """

    def __init__(
        self, game: PokerGame, strategy: Array, holdings: Holdings, seat: Seat, random: np.random.Generator
    ) -> None:
        self._game, self._strategy, self._holdings = game, strategy, holdings
        self._seat, self._random = seat, random
        self._fares: dict[Board, Array] = {}
        self._true = holdings.against(seat.player, seat.hand, seat.board)

    def wins(self) -> float:
        """Return the winnings of the hand in chips."""
        return self._value(0, self._holdings.against(self._seat.player, self._seat.hand, ()).astype(np.float64))

    def _value(self, node: int, held: Array) -> float:
        """Return the value of a node; `held` is the opponent's range before removing hands with board cards."""
        tree, player = self._game.tree, self._seat.player
        kind = tree.kind[node]
        if kind == FOLD:
            mine = tree.player[node] == player
            return float(-tree.paid[node, player] if mine else tree.paid[node, 1 - player])
        if kind == SHOWDOWN:
            true = held * self._true
            return float(tree.paid[node].min() * (true @ self._against(self._seat.board)) / true.sum())
        if kind == STREET:
            settled = self._settled(node, held)
            return self._value(tree.below(node, 0), held) if settled is None else settled
        if tree.player[node] == player:
            return self._value(tree.below(node, self._best(node, held)), held)
        return self._answered(node, held)

    def _settled(self, node: int, held: Array) -> float | None:
        """Return the mean winnings over the remaining cards if no decisions are left; None otherwise.

        The cards are sampled again. The cards with which decisions were chosen would bias the result upwards.
        """
        tree, player, hand = self._game.tree, self._seat.player, self._seat.hand
        board, end = self._shown(node), node
        while tree.kind[end] == STREET:
            end = tree.below(end, 0)
        if tree.kind[end] != SHOWDOWN:
            return None
        may = held * self._holdings.against(player, hand, board)
        fares = self._holdings.equities(player, hand, board, self._random)
        return float(tree.paid[end].min() * (may @ fares) / may.sum())

    def _answered(self, node: int, held: Array) -> float:
        """Return the value of a decision of the opponent, the mean over the actions of its range."""
        acts, true = self._acts(node), held * self._true
        likely = true @ acts / true.sum()
        below = ((action, self._game.tree.below(node, action)) for action in map(int, np.flatnonzero(likely > 0)))
        return sum(float(likely[action]) * self._value(child, held * acts[:, action]) for action, child in below)

    def _best(self, node: int, held: Array) -> int:
        """Return the best action if both players only check and call after the opponent's answer."""
        game, tree, player = self._game, self._game.tree, self._seat.player
        board = self._shown(node)
        may = held * self._holdings.against(player, self._seat.hand, board)
        may /= may.sum()
        fares = may * self._against(board)
        paid = tree.paid[node].astype(np.float64)
        values = np.zeros(int(tree.degree[node]))
        for action, (_, chips, *_) in enumerate(tree.actions_of(node)):
            if folds(game, node, action):
                values[action] = -paid[player]
            elif raises(game, node, action):
                gives_up = self._folding(tree.below(node, action))
                values[action] = (may @ gives_up) * paid[1 - player] + chips * (fares @ (1 - gives_up))
            else:
                values[action] = chips * fares.sum()
        return int(values.argmax())

    def _folding(self, node: int) -> Array:
        """Return `(hands,)` the probability that the opponent folds at a decision."""
        acts = self._acts(node)
        giving = [action for action in range(acts.shape[1]) if folds(self._game, node, action)]
        folded: Array = acts[:, giving].sum(axis=1)
        return folded

    def _acts(self, node: int) -> Array:
        """Return `(hands, actions)` probabilities of the opponent's actions at a decision."""
        buckets = self._holdings.buckets(1 - self._seat.player, self._shown(node))
        return probabilities(self._game, self._strategy, node, buckets)

    def _shown(self, node: int) -> Board:
        return self._seat.board[: self._holdings.shown[self._game.tree.street[node]]]

    def _against(self, board: Board) -> Array:
        """Return `(hands,)` the equity of the hand against every other on a board."""
        if board not in self._fares:
            self._fares[board] = self._holdings.equities(self._seat.player, self._seat.hand, board, self._random)
        return self._fares[board]
