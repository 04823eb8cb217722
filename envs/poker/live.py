"""A hand that is played with any bet that the rules allow, and the node of the tree that corresponds to it."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..task import Task
from .families import game_of, layout_of
from .game import PokerGame
from .holdem import NoLimitBetting
from .sizes import sizes_of
from .tree import DEAL, DECISION, FOLD, STREET, Action, BettingStatus, Tree


class HandBetting(Protocol):
    """The betting of one hand."""

    @property
    def status(self) -> BettingStatus:
        """The status of the hand: who decides, or how it ended."""

    @property
    def actions(self) -> Sequence[Action]:
        """The possible actions, with the sizes of the game."""

    @property
    def raises(self) -> tuple[int, int] | None:
        """The smallest and the largest raise in total chips, or None if no raise is possible."""

    def act(self, action: Action) -> None:
        """Take an action and deal the next street."""


class TreeHandBetting:
    """The betting of a game in which all actions are in the tree."""

    raises = None

    def __init__(self, tree: Tree) -> None:
        self._tree, self._node = tree, 0

    @property
    def status(self) -> BettingStatus:
        tree, node = self._tree, self._node
        paid = float(tree.paid[node, 0]), float(tree.paid[node, 1])
        return BettingStatus(
            int(tree.kind[node]), int(tree.player[node]), int(tree.street[node]), paid, int(tree.result[node])
        )

    @property
    def actions(self) -> Sequence[Action]:
        return self._tree.actions_of(self._node)

    def act(self, action: Action) -> None:
        """Go down the tree."""
        self._node = next_decision(self._tree, self._node, self._tree.actions_of(self._node).index(action))


class NoLimitHandBetting:
    """The betting of a hand of no-limit.

    Args:
        betting: Its rules.
    """

    def __init__(self, betting: NoLimitBetting) -> None:
        self._betting, self._state = betting, betting.root()

    @property
    def status(self) -> BettingStatus:
        return self._betting.status(self._state)

    @property
    def actions(self) -> Sequence[Action]:
        """The actions of the abstraction, with the actual chips."""
        return self._betting.actions(self._state)

    @property
    def raises(self) -> tuple[int, int] | None:
        """The raises that the rules allow."""
        return self._betting.raises(self._state) if self.status.kind == DECISION else None

    def act(self, action: Action) -> None:
        """Take an action and deal the next street."""
        self._state = self._betting.after(self._state, action)
        while self.status.kind == STREET:
            self._state = self._betting.after(self._state, DEAL)


def next_decision(tree: Tree, node: int, place: int) -> int:
    """Return the next node below an action, given by its place, that is a decision or an end."""
    below = tree.below(node, place)
    while tree.kind[below] == STREET:
        below = tree.below(below, 0)
    return below


Cards: TypeAlias = tuple[int, ...]
Policy: TypeAlias = "Callable[[LiveHand, int], NDArray[np.float64]]"
"""How a seat plays: called with the hand and the seat, returns probabilities of the actions at the hand's node."""

NO_NUMBER = -1
"""The number of a raise whose size is not in the abstraction."""


def uniform(hand: LiveHand, seat: int) -> NDArray[np.float64]:
    """Return a uniform distribution over the actions."""
    del seat
    assert hand.node is not None
    count = int(hand.game.tree.degree[hand.node])
    return np.full(count, 1 / count)


class TakenAction(NamedTuple):
    """An action of a hand, its player and its street."""

    street: int
    player: int
    action: Action


class LiveRules(NamedTuple):
    """The rules of the hands of a task.

    Attributes:
        game: Its tree and, if they are few, its deals.
        betting: The no-limit rules, if bets can have any size.
        unit: Chips of a big blind, the unit of winnings; 1 if there are no blinds.
    """

    game: PokerGame
    betting: NoLimitBetting | None
    open_cards: tuple[int, ...]
    unit: int


def rules_of(task: Task) -> LiveRules:
    game, opened = game_of(task), layout_of(task).board
    if game.deals is not None:
        return LiveRules(game, None, opened, 1)
    sizes = sizes_of(task.values["betting"])
    big = sizes.blinds[1]
    return LiveRules(game, NoLimitBetting(sizes, task.values["stack"] * big), opened, big)


class LiveHand:
    """One hand. An action that is not in the tree is mapped to one that is; if there is none, the hand has no node.

    Attributes:
        deal: The index of the deal of a small game, else 0.
        hands: Cards of both seats.
        node: The node of the tree for the betting so far, or None.
        history: The actions so far.
        before: Chips that each player had put in before this street.

    Args:
        rules: The rules of the task.
        generator: The random generator of the deal and of the mapping of bets.
    """

    def __init__(self, rules: LiveRules, generator: random.Random) -> None:
        self.game, self._open, self._generator = rules.game, rules.open_cards, generator
        self._betting: HandBetting = (
            TreeHandBetting(rules.game.tree) if rules.betting is None else NoLimitHandBetting(rules.betting)
        )
        self.deal = 0
        self.node: int | None = 0
        self.history: list[TakenAction] = []
        self.hands, self._board = self._dealt()
        one, other = self.status.paid
        self.before = one if one == other else 0

    def _dealt(self) -> tuple[tuple[Cards, Cards], Cards]:
        deals = self.game.deals
        if deals is None:
            cards = self._generator.sample(range(52), 9)
            return (tuple(cards[:2]), tuple(cards[2:4])), tuple(cards[4:])
        self.deal = self._generator.randrange(len(deals.hands))
        one, other = deals.hands[self.deal].tolist()
        return ((one,), (other,)), (int(deals.board[self.deal]),)

    @property
    def status(self) -> BettingStatus:
        """The status of the hand: who decides, or how it ended."""
        return self._betting.status

    @property
    def over(self) -> bool:
        return self.status.kind != DECISION

    @property
    def board(self) -> tuple[int, ...]:
        """Cards that lie open."""
        return self._board[: self._open[self.status.street]]

    @property
    def actions(self) -> Sequence[Action]:
        """The possible actions, with the sizes of the abstraction."""
        return self._betting.actions

    @property
    def raises(self) -> tuple[int, int] | None:
        """The smallest and the largest raise in total chips, or None if no raise is possible."""
        return self._betting.raises

    def bucket(self, seat: int) -> int:
        """Return the bucket of a seat of a small game."""
        assert self.game.deals is not None
        return int(self.game.deals.bucket[self.deal, self.status.street, seat])

    def act(self, action: Action) -> None:
        """Take one of `actions`, or raise to any number of chips within `raises`."""
        here = self.status
        self.history.append(TakenAction(here.street, here.player, action))
        place = self._place(action, max(here.paid))
        self._betting.act(action)
        self._follow(place)
        if self.status.street != here.street:
            self.before = self.status.paid[0]

    def probabilities(self, policy: Policy) -> NDArray[np.float64] | None:
        """Return a policy's probabilities of `actions`; None if the hand has no node with the same actions."""
        if self.over or self.node is None:
            return None
        same = [action.number for action in self.game.tree.actions_of(self.node)]
        return policy(self, self.status.player) if same == [action.number for action in self.actions] else None

    def chosen_by(self, policy: Policy) -> Action:
        """Return a policy's action; without a node, check or call."""
        if self.node is None:
            return self._passive
        chances = policy(self, self.status.player)
        wanted = self.game.tree.actions_of(self.node)[self._generator.choices(range(len(chances)), chances.tolist())[0]]
        same = next((action for action in self.actions if action.number == wanted.number), None)
        if same is not None or self.raises is None:
            return same or self._passive
        return self.raise_to(self._scaled(wanted.chips, max(self.game.tree.paid[self.node]), max(self.status.paid)))

    def raise_to(self, chips: float) -> Action:
        """Return the raise to a total of `chips`, clipped to what the rules allow."""
        assert self.raises is not None
        least, most = self.raises
        chips = min(max(round(chips), least), most)
        offered = next((action for action in self.actions if action.chips == chips), None)
        verb = "raise" if max(self.status.paid) > self.before else "bet"
        return offered or Action(f"{verb} {chips - self.before:g}", chips, NO_NUMBER)

    @property
    def won(self) -> float:
        """Chips that the first seat has won; the hand must be over."""
        kind, player, _, paid, result = self.status
        if kind == FOLD:
            return paid[1] if player else -paid[0]
        if self.game.deals is not None:
            return float(self.game.deals.sign[self.deal, result]) * min(paid)
        one, other = (_strength((*hand, *self._board)) for hand in self.hands)
        return (int(one > other) - int(one < other)) * min(paid)

    @property
    def _passive(self) -> Action:
        return next(action for action in self.actions if action.chips == max(self.status.paid))

    def worth(self, seat: int) -> str:
        """Return the category of a hand of hold'em with the whole board, such as a flush."""
        from .cards.evaluator import CATEGORIES, CATEGORY

        return CATEGORIES[_strength((*self.hands[seat], *self._board)) >> CATEGORY]

    def _place(self, action: Action, owed: float) -> int | None:
        if self.node is None:
            return None
        tree, node = self.game.tree, self.node
        numbers = [one.number for one in tree.actions_of(node)]
        if action.number in numbers:
            return numbers.index(action.number)
        chips = self._scaled(action.chips, owed, float(tree.paid[node].max()))
        return taken_for(tree, node, chips, self._generator.random())

    def _scaled(self, chips: float, owed: float, to: float) -> float:
        """Return the raise of the same share of the pot if a call is to `to` chips instead of `owed`."""
        return to + (chips - owed) / owed * to

    def _follow(self, place: int | None) -> None:
        """Go down the tree, or give up the node if it no longer corresponds to the hand."""
        if self.node is None or place is None:
            return
        tree, here = self.game.tree, self.status
        at = next_decision(tree, self.node, place)
        same = tree.kind[at] == here.kind == DECISION and (tree.player[at], tree.street[at]) == (
            here.player,
            here.street,
        )
        self.node = at if same else None


def _strength(cards: Sequence[int]) -> int:
    from .cards.evaluator import strength
    from .cards.words import word_of

    return int(strength(sum(word_of(card) for card in cards)))


def chance_of_smaller(smaller: float, larger: float, bet: float) -> float:
    """Return the probability with which `bet` is mapped to the smaller of two others.

    This is the pseudo-harmonic mapping of Ganzfried and Sandholm (2013).

    Args:
        smaller: A bet, as a share of the pot.
        larger: The next larger one.
    """
    return (larger - bet) * (1 + smaller) / ((larger - smaller) * (1 + bet))


def taken_for(tree: Tree, node: int, chips: float, coin: float) -> int:
    """Return the place among a decision's actions of the one to which a raise to `chips` is mapped.

    A raise below the smallest or above the largest of the tree is mapped to that one, or to a call if the tree has
    none. A bet is never mapped to a check.

    Args:
        tree: The betting.
        node: A decision.
        chips: The total chips of its player after the raise.
        coin: A random number from 0 to 1.
    """
    owed = float(tree.paid[node].max())
    actions = tree.actions_of(node)
    raises = [place for place, action in enumerate(actions) if action.chips > owed]
    if not raises:
        return len(actions) - 1
    shares = [(actions[place].chips - owed) / (2 * owed) for place in raises]
    bet = min(max((chips - owed) / (2 * owed), shares[0]), shares[-1])
    upper = bisect_right(shares, bet)
    if upper == len(shares):
        return raises[-1]
    return raises[upper - (coin < chance_of_smaller(shares[upper - 1], shares[upper], bet))]
