"""Small games of the literature: Kuhn poker, Leduc poker and liar's dice, with the rules and sizes of OpenSpiel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from .game import Deals, PokerGame
from .tree import DECISION, FOLD, SHOWDOWN, STREET, Action, BettingStatus, compile_tree


class LimitState(NamedTuple):
    """The state of limit betting.

    Attributes:
        street: The round.
        player: The next player.
        paid: Chips that both players have put in.
        raises: Number of bets and raises of this round.
        checked: Whether a player checked or called without ending the round.
        folded: The player who folded, or -1.
        over: Whether the round has ended.
    """

    street: int
    player: int
    paid: tuple[int, int]
    raises: int = 0
    checked: bool = False
    folded: int = -1
    over: bool = False


class LimitBetting:
    """Limit poker: every round has one size of bet and a limit of raises.

    Args:
        ante: Chips that both players pay before the first card.
        sizes: The size of a bet in each round.
        most: The limit of bets and raises in a round.
    """

    def __init__(self, ante: int, sizes: Sequence[int], most: int) -> None:
        self._ante, self._sizes, self._most = ante, tuple(sizes), most

    def root(self) -> LimitState:
        """Return the state in which both have paid the ante and the first player is next."""
        return LimitState(0, 0, (self._ante, self._ante))

    def status(self, state: LimitState) -> BettingStatus:
        if state.folded >= 0:
            return BettingStatus(FOLD, state.folded, state.street, state.paid)
        if not state.over:
            return BettingStatus(DECISION, state.player, state.street, state.paid)
        last = state.street == len(self._sizes) - 1
        return BettingStatus(SHOWDOWN if last else STREET, 0, state.street, state.paid)

    def actions(self, state: LimitState) -> list[Action]:
        """Return fold if there is a bet, check or call, and bet or raise below the limit."""
        mine, owed = state.paid[state.player], max(state.paid)
        facing = owed > mine
        found = [Action("fold", mine, 0)] if facing else []
        found.append(Action("call" if facing else "check", owed, 1))
        if state.raises < self._most:
            found.append(Action("raise" if facing else "bet", owed + self._sizes[state.street], 2))
        return found

    def after(self, state: LimitState, action: Action) -> LimitState:
        if state.over:
            return LimitState(state.street + 1, 0, state.paid)
        name, chips, _ = action
        if name == "fold":
            return state._replace(folded=state.player)
        paid = (int(chips), state.paid[1]) if state.player == 0 else (state.paid[0], int(chips))
        raised = name in {"bet", "raise"}
        ends = not raised and (state.checked or state.raises > 0)
        return LimitState(state.street, 1 - state.player, paid, state.raises + raised, checked=True, over=ends)


class BidState(NamedTuple):
    """The state of liar's dice: the bids so far, and whether the last one was doubted."""

    bids: tuple[int, ...] = ()
    doubted: bool = False


class LiarsDiceBetting:
    """Liar's dice for two with one die each: bids of a number and a face rise until one is doubted."""

    def __init__(self, faces: int) -> None:
        self._faces, self._bids = faces, 2 * faces

    def root(self) -> BidState:
        return BidState()

    def status(self, state: BidState) -> BettingStatus:
        """Return the status of `state`; the result of a showdown encodes the last bid and its player."""
        player = len(state.bids) % 2
        if not state.doubted:
            return BettingStatus(DECISION, player, 0, (1, 1))
        return BettingStatus(SHOWDOWN, 0, 0, (1, 1), 2 * state.bids[-1] + 1 - player)

    def actions(self, state: BidState) -> list[Action]:
        """Return all higher bids, and to doubt the last one."""
        lowest = state.bids[-1] + 1 if state.bids else 0
        found = [Action(bid_name(bid, self._faces), 1, bid) for bid in range(lowest, self._bids)]
        return [*found, Action("liar", 1, self._bids)] if state.bids else found

    def after(self, state: BidState, action: Action) -> BidState:
        if action.number == self._bids:
            return state._replace(doubted=True)
        return BidState((*state.bids, action.number))


def bid_name(bid: int, faces: int) -> str:
    """Return the name of a bid: `2x5` for two fives."""
    return f"{bid // faces + 1}x{bid % faces + 1}"


def kuhn() -> PokerGame:
    """Three cards, one each, one bet: Kuhn (1950)."""
    hands = np.array(list(permutations(range(3), 2)), np.uint8)
    deals = Deals(
        hands=hands,
        board=np.zeros(len(hands), np.uint8),
        bucket=hands.astype(np.int32)[:, None, :],
        sign=np.where(hands[:, :1] > hands[:, 1:], 1, -1).astype(np.int8),
    )
    return PokerGame("kuhn", compile_tree(LimitBetting(1, (1,), 1)), (3,), deals, hands=("J", "Q", "K"))


def leduc(*, suits: bool = True) -> PokerGame:
    """Six cards of three ranks, one each and one for both, two rounds: Southey et al. (2005).

    Args:
        suits: Whether cards of a rank are different: 936 information sets instead of 288.
    """
    cards = np.array(list(permutations(range(6), 3)), np.uint8)
    hands, board = cards[:, :2], cards[:, 2]
    seen = cards.astype(np.int32) if suits else cards.astype(np.int32) // 2
    pairs = seen[:, :2] * 6 + seen[:, 2:]
    second = np.unique(pairs, return_inverse=True)[1].reshape(pairs.shape).astype(np.int32)
    ranks = cards.astype(np.int32) // 2
    strength = np.where(ranks[:, :2] == ranks[:, 2:], 3, ranks[:, :2])
    deals = Deals(
        hands=hands,
        board=board,
        bucket=np.stack([seen[:, :2], second], axis=1),
        sign=np.sign(strength[:, :1] - strength[:, 1:]).astype(np.int8),
    )
    names = tuple(rank + suit for rank in "JQK" for suit in "sh")
    return PokerGame(
        "leduc", compile_tree(LimitBetting(1, (2, 4), 2)), (6, 30) if suits else (3, 9), deals, names, names
    )


def liars_dice(faces: int = 6) -> PokerGame:
    """One die each; the highest face is wild: as in Neller and Lanctot (2013)."""
    hands = np.array(list(product(range(faces), repeat=2)), np.uint8)
    sign = np.zeros((len(hands), 4 * faces), np.int8)
    for bid in range(2 * faces):
        number, face = bid // faces + 1, bid % faces
        holds = ((hands == face) | (hands == faces - 1)).sum(axis=1) >= number
        sign[:, 2 * bid] = np.where(holds, 1, -1)
        sign[:, 2 * bid + 1] = -sign[:, 2 * bid]
    deals = Deals(
        hands=hands,
        board=np.zeros(len(hands), np.uint8),
        bucket=hands.astype(np.int32)[:, None, :],
        sign=sign,
    )
    return PokerGame("liars_dice", compile_tree(LiarsDiceBetting(faces)), (faces,), deals, tuple("⚀⚁⚂⚃⚄⚅"[:faces]))
