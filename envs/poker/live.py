"""A hand that is played for real: any bet that the rules allow, and the node of the tree that stands for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..task import Task
from .families import game_of, layout_of
from .game import PokerGame
from .hand_betting import HandBetting, NoLimitHandBetting, TreeHandBetting, next_decision
from .holdem import NoLimitBetting
from .off_tree import taken_for
from .sizes import sizes_of
from .tree import DECISION, FOLD, Action, BettingStatus

Cards: TypeAlias = tuple[int, ...]
Policy: TypeAlias = "Callable[[LiveHand, int], NDArray[np.float64]]"
"""How a seat plays: called with the hand and the seat, returns probabilities of the actions at the hand's node."""

NO_NUMBER = -1
"""Of a raise whose size the abstraction does not offer."""


def uniform(hand: LiveHand, seat: int) -> NDArray[np.float64]:
    """Play every action equally often."""
    del seat
    assert hand.node is not None
    count = int(hand.game.tree.degree[hand.node])
    return np.full(count, 1 / count)


class TakenAction(NamedTuple):
    """What was done in a hand, by whom, on which street."""

    street: int
    player: int
    action: Action


class LiveRules(NamedTuple):
    """What hands of a task are played by.

    Attributes:
        game: Its tree and, if they are few, its deals.
        betting: The rules of no-limit, where bets can have any size.
        open_cards: Cards that lie open, by street.
        unit: Chips of a big blind, in which winnings are told; 1 where there are no blinds.
    """

    game: PokerGame
    betting: NoLimitBetting | None
    open_cards: tuple[int, ...]
    unit: int


def rules_of(task: Task) -> LiveRules:
    """Return what a task's hands are played by."""
    game, opened = game_of(task), layout_of(task).board
    if game.deals is not None:
        return LiveRules(game, None, opened, 1)
    sizes = sizes_of(task.values["betting"])
    big = sizes.blinds[1]
    return LiveRules(game, NoLimitBetting(sizes, task.values["stack"] * big), opened, big)


class LiveHand:
    """One hand. What is not on the tree is taken for what is, and where nothing is, the hand has no node any more.

    Attributes:
        game: What is played.
        deal: Which of the deals of a small game it is, else 0.
        hands: Cards of both seats.
        node: The node of the tree that stands for the betting so far, or None.
        history: What was done.
        before: Chips that each had put in before this street.

    Args:
        rules: Of the task.
        generator: Deals, and decides what a bet is taken for.
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
        """Where the hand is: who decides, or how it ended."""
        return self._betting.status

    @property
    def over(self) -> bool:
        """Whether nobody decides any more."""
        return self.status.kind != DECISION

    @property
    def board(self) -> tuple[int, ...]:
        """Cards that lie open."""
        return self._board[: self._open[self.status.street]]

    @property
    def actions(self) -> Sequence[Action]:
        """What can be done, of the sizes that the abstraction offers."""
        return self._betting.actions

    @property
    def raises(self) -> tuple[int, int] | None:
        """The least and the most chips in all of a raise of any size, where there is one."""
        return self._betting.raises

    def bucket(self, seat: int) -> int:
        """Return what a seat of a small game knows besides the betting."""
        assert self.game.deals is not None
        return int(self.game.deals.bucket[self.deal, self.status.street, seat])

    def act(self, action: Action) -> None:
        """Do what `actions` has, or a raise to any number of chips within `raises`."""
        here = self.status
        self.history.append(TakenAction(here.street, here.player, action))
        place = self._place(action, max(here.paid))
        self._betting.act(action)
        self._follow(place)
        if self.status.street != here.street:
            self.before = self.status.paid[0]

    def probabilities(self, policy: Policy) -> NDArray[np.float64] | None:
        """Return how often a policy would take each of `actions`, if the hand has a node that has the same ones."""
        if self.over or self.node is None:
            return None
        same = [action.number for action in self.game.tree.actions_of(self.node)]
        return policy(self, self.status.player) if same == [action.number for action in self.actions] else None

    def chosen_by(self, policy: Policy) -> Action:
        """Return what a policy does now; without a node it checks or calls."""
        if self.node is None:
            return self._passive
        chances = policy(self, self.status.player)
        wanted = self.game.tree.actions_of(self.node)[self._generator.choices(range(len(chances)), chances.tolist())[0]]
        same = next((action for action in self.actions if action.number == wanted.number), None)
        if same is not None or self.raises is None:
            return same or self._passive
        return self.raise_to(self._scaled(wanted.chips, max(self.game.tree.paid[self.node]), max(self.status.paid)))

    def raise_to(self, chips: float) -> Action:
        """Return the raise to so many chips in all, or to as many as the rules allow."""
        assert self.raises is not None
        least, most = self.raises
        chips = min(max(round(chips), least), most)
        offered = next((action for action in self.actions if action.chips == chips), None)
        verb = "raise" if max(self.status.paid) > self.before else "bet"
        return offered or Action(f"{verb} {chips - self.before:g}", chips, NO_NUMBER)

    @property
    def won(self) -> float:
        """Chips that the first seat has won with a hand that is over."""
        kind, player, _, paid, result = self.status
        if kind == FOLD:
            return paid[1] if player else -paid[0]
        if self.game.deals is not None:
            return float(self.game.deals.sign[self.deal, result]) * min(paid)
        one, other = (_strength((*hand, *self._board)) for hand in self.hands)
        return (int(one > other) - int(one < other)) * min(paid)

    @property
    def _passive(self) -> Action:
        """To check or to call."""
        return next(action for action in self.actions if action.chips == max(self.status.paid))

    def worth(self, seat: int) -> str:
        """Return what a hand of hold'em with the whole board is called."""
        from .cards.evaluator import CATEGORIES, CATEGORY

        return CATEGORIES[_strength((*self.hands[seat], *self._board)) >> CATEGORY]

    def _place(self, action: Action, owed: float) -> int | None:
        """Return which of the node's actions one stands for."""
        if self.node is None:
            return None
        tree, node = self.game.tree, self.node
        numbers = [one.number for one in tree.actions_of(node)]
        if action.number in numbers:
            return numbers.index(action.number)
        chips = self._scaled(action.chips, owed, float(tree.paid[node].max()))
        return taken_for(tree, node, chips, self._generator.random())

    def _scaled(self, chips: float, owed: float, to: float) -> float:
        """Return the raise that is the same share of the pot where a call costs `to` instead of `owed`, in all."""
        return to + (chips - owed) / owed * to

    def _follow(self, place: int | None) -> None:
        """Go down the tree, as far as it still tells the same hand."""
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
