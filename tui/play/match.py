"""A match of one person at a card table: hand after hand, against a policy or against oneself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from ...envs import Task
from ...envs.poker.live import LiveHand, Policy, rules_of
from ...envs.poker.tree import FOLD, Action


class OpponentDecision(NamedTuple):
    """A decision of the opponent: what its tree has, how often it would do that with its cards, what it did."""

    actions: tuple[str, ...]
    chances: tuple[float, ...]
    done: str = ""


class Match:
    """Hands one after the other; the person changes seats after each.

    Attributes:
        task: What is played.
        unit: Chips of a big blind; 1 where there are no blinds.
        hand: The present one.
        seat: Where the person sits; playing against oneself, who decides.
        hands: How many have begun.
        opponent_decisions: What the opponent considered in this hand: its decisions in their order.
        total: Chips that the person, or the first seat, has won with those that ended.

    Args:
        task: A game of cards or dice.
        seed: Of the deals and of what the opponent draws.
        opponent: How the other seat plays, or None if the person plays both.
    """

    def __init__(self, task: Task, seed: int, opponent: Policy | None) -> None:
        self.task, self.opponent = task, opponent
        self._rules = rules_of(task)
        self._generator = random.Random(seed)
        self.unit = self._rules.unit
        self.hands, self.total, self._place = 0, 0.0, 1
        self.begin()

    def begin(self) -> None:
        """Deal the next hand, and let the opponent act if it is first."""
        self.hand = LiveHand(self._rules, self._generator)
        self.opponent_decisions: list[OpponentDecision] = []
        self.hands += 1
        self._place = 1 - self._place
        self._answer()

    @property
    def alone(self) -> bool:
        """Whether the person plays both seats."""
        return self.opponent is None

    @property
    def seat(self) -> int:
        """Where the person sits."""
        return self._place if self.opponent or self.hand.over else self.hand.status.player

    def hidden(self, seat: int) -> bool:
        """Whether a seat's cards lie face down: until the end, and after it if somebody folded."""
        here = self.hand.status
        return seat != self.seat and (not self.hand.over or (here.kind == FOLD and not self.alone))

    def act(self, action: Action) -> None:
        """Take an action, and let the opponent answer."""
        self.hand.act(action)
        self._answer()

    @property
    def won(self) -> float:
        """Chips that the person, or the first seat, has won with this hand."""
        return self.hand.won if self.alone or self._place == 0 else -self.hand.won

    def advice(self) -> Sequence[float] | None:
        """Return how often the opponent's policy would take each action in the person's place, if it can tell."""
        chances = None if self.opponent is None else self.hand.probabilities(self.opponent)
        return None if chances is None else chances.tolist()

    def _answer(self) -> None:
        hand = self.hand
        while self.opponent is not None and not hand.over and hand.status.player != self._place:
            thought = _thought(hand, self.opponent)
            action = hand.chosen_by(self.opponent)
            if thought is not None:
                self.opponent_decisions.append(thought._replace(done=action.name))
            hand.act(action)
        if hand.over:
            self.total += self.won


def _thought(hand: LiveHand, policy: Policy) -> OpponentDecision | None:
    """Return what a policy considers at the node that stands for a hand, if there is one."""
    if hand.node is None:
        return None
    names = tuple(action.name for action in hand.game.tree.actions_of(hand.node))
    return OpponentDecision(names, tuple(policy(hand, hand.status.player).tolist()))
