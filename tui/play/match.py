"""A match of card or dice hands between the user and a policy, or with both seats played by the user."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from ...envs import Task
from ...envs.poker.live import LiveHand, Policy, rules_of
from ...envs.poker.tree import FOLD, Action


class OpponentDecision(NamedTuple):
    """A decision of the opponent: the actions in its tree, their probabilities with its cards, and its action."""

    actions: tuple[str, ...]
    chances: tuple[float, ...]
    done: str = ""


class Match:
    """A sequence of hands. The user changes seats after each.

    Attributes:
        task: The game.
        unit: Chips of a big blind; 1 for games without blinds.
        hand: The present hand.
        seat: The user's seat; if the user plays both, the one to act.
        hands: Number of hands that have started.
        opponent_decisions: What the opponent considered in this hand: its decisions in their order.
        total: Chips that the user, or the first seat, has won in the hands that have ended.

    Args:
        task: A card or dice game.
        seed: Seed of the deals and of the opponent's actions.
        opponent: The policy of the other seat, or None if the user plays both.
    """

    def __init__(self, task: Task, seed: int, opponent: Policy | None) -> None:
        self.task, self.opponent = task, opponent
        self._rules = rules_of(task)
        self._generator = random.Random(seed)
        self.unit = self._rules.unit
        self.hands, self.total, self._place = 0, 0.0, 1
        self.begin()

    def begin(self) -> None:
        """Deal the next hand, and let the opponent act if it acts first."""
        self.hand = LiveHand(self._rules, self._generator)
        self.opponent_decisions: list[OpponentDecision] = []
        self.hands += 1
        self._place = 1 - self._place
        self._answer()

    @property
    def alone(self) -> bool:
        """Whether the user plays both seats."""
        return self.opponent is None

    @property
    def seat(self) -> int:
        """The user's seat; if the user plays both, the one to act."""
        return self._place if self.opponent or self.hand.over else self.hand.status.player

    def hidden(self, seat: int) -> bool:
        """Return whether a seat's cards are face down: before the end, and afterwards if a player has folded."""
        here = self.hand.status
        return seat != self.seat and (not self.hand.over or (here.kind == FOLD and not self.alone))

    def act(self, action: Action) -> None:
        """Take an action, and let the opponent answer."""
        self.hand.act(action)
        self._answer()

    @property
    def won(self) -> float:
        """Chips that the user, or the first seat, has won in this hand."""
        return self.hand.won if self.alone or self._place == 0 else -self.hand.won

    def advice(self) -> Sequence[float] | None:
        """Return the opponent's probability of each action in the user's place, if it is known."""
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
    """Return a policy's probabilities in the node of a hand, if the tree has one."""
    if hand.node is None:
        return None
    names = tuple(action.name for action in hand.game.tree.actions_of(hand.node))
    return OpponentDecision(names, tuple(policy(hand, hand.status.player).tolist()))
