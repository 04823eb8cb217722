"""Heads-up no-limit hold'em: the rules of betting, with the sizes of an abstraction."""

from __future__ import annotations

from typing import NamedTuple

from .cards.notation import CLASSES
from .game import PokerGame
from .sizes import STREETS, BetSize, BetSizes, sizes_of
from .tree import DECISION, FOLD, SHOWDOWN, STREET, Action, BettingStatus, compile_tree

FOLDS, CALLS, RAISES = range(3)
"""Numbers of actions: fold, check or call, and the first of the sizes."""


class NoLimitState(NamedTuple):
    """The state of the betting of a hand.

    Attributes:
        street: 0 before the flop.
        player: The next player; 0 has the button and the small blind.
        paid: Chips that both players have put in.
        raises: Number of bets and raises of this street.
        least: The smallest increment of the next raise.
        before: Chips that each player had put in before this street.
        acted: Whether a player has acted on this street.
        folded: The player who folded, or -1.
        over: Whether the betting of this street has ended.
    """

    street: int
    player: int
    paid: tuple[int, int]
    raises: int = 0
    least: int = 0
    before: int = 0
    acted: bool = False
    folded: int = -1
    over: bool = False


class NoLimitBetting:
    """No-limit betting for two with equal stacks: the small blind acts first before the flop and last after it.

    Args:
        stack: Initial chips of each player.
    """

    def __init__(self, sizes: BetSizes, stack: int) -> None:
        self._sizes, self._stack = sizes, stack
        self._number = {size: RAISES + index for index, size in enumerate(sizes.offered)}

    def root(self) -> NoLimitState:
        """Return the state in which the blinds are paid and the small blind is next."""
        small, big = self._sizes.blinds
        return NoLimitState(0, 0, (small, big), least=big)

    def status(self, state: NoLimitState) -> BettingStatus:
        if state.folded >= 0:
            return BettingStatus(FOLD, state.folded, state.street, state.paid)
        if not state.over:
            return BettingStatus(DECISION, state.player, state.street, state.paid)
        last = state.street == len(STREETS) - 1
        return BettingStatus(SHOWDOWN if last else STREET, 0, state.street, state.paid)

    def actions(self, state: NoLimitState) -> list[Action]:
        """Return fold if there is a bet, check or call, and the raises of the abstraction in ascending order."""
        owed = max(state.paid)
        facing = state.paid[state.player] < owed
        found = [Action("fold", state.paid[state.player], FOLDS)] if facing else []
        found.append(Action("call" if facing else "check", owed, CALLS))
        verb = "raise" if facing or state.street == 0 else "bet"
        for chips, size in sorted(self._raises(state, owed).items()):
            name = "all-in" if chips == self._stack else f"{verb} {chips - state.before}"
            found.append(Action(name, chips, self._number[size]))
        return found

    def after(self, state: NoLimitState, action: Action) -> NoLimitState:
        """Return the state after an action, or after a deal."""
        if state.over:
            ends = max(state.paid) == self._stack
            least, before = self._sizes.blinds[1], state.paid[0]
            return NoLimitState(state.street + 1, 1, state.paid, least=least, before=before, over=ends)
        if action.number == FOLDS:
            return state._replace(folded=state.player)
        return self._paying(state, int(action.chips))

    def _paying(self, state: NoLimitState, chips: int) -> NoLimitState:
        """Return the state after a check, call or raise, after which its player has put in `chips` in total."""
        owed = max(state.paid)
        paid = (chips, state.paid[1]) if state.player == 0 else (state.paid[0], chips)
        if chips > owed:
            least = max(state.least, chips - owed)
            raises, over = state.raises + 1, False
        else:
            raises, least, over = state.raises, state.least, state.acted
        other = 1 - state.player
        return state._replace(player=other, paid=paid, raises=raises, least=least, acted=True, over=over)

    def raises(self, state: NoLimitState) -> tuple[int, int] | None:
        """Return the smallest and the largest raise in total chips, or None if no raise is possible."""
        owed = max(state.paid)
        return (min(owed + state.least, self._stack), self._stack) if owed < self._stack else None

    def _raises(self, state: NoLimitState, owed: int) -> dict[int, BetSize]:
        """Return the size of every raise by total chips; of sizes with the same chips, the first."""
        if owed == self._stack:
            return {}
        jam = BetSize("jam")
        if self._stack - owed < self._sizes.jam_spr_threshold * 2 * owed:
            return {self._stack: jam}
        template = self._sizes.street(state.street).template(state.raises, state.player)
        if state.raises >= self._sizes.max_raises[state.street]:
            template = tuple(size for size in template if size == jam)
        found: dict[int, BetSize] = {}
        for size in template:
            chips = self._chips(size, owed, owed + state.least)
            if chips < self._sizes.all_in_share * self._stack:
                found.setdefault(chips, size)
            else:
                found[self._stack] = jam
        return found

    def _chips(self, size: BetSize, owed: int, least: int) -> int:
        """Return the total chips of a raise: a whole number from `least` to the stack."""
        chips = {
            "pot": owed + round(size.number * 2 * owed),
            "blinds": round(size.number * self._sizes.blinds[1]),
            "min": least,
            "jam": self._stack,
        }[size.unit]
        return min(max(chips, least), self._stack)


def holdem(sizes: BetSizes, stack: int, buckets: tuple[int, int, int]) -> PokerGame:
    """Return hold'em under an abstraction of its bets and of its cards.

    Args:
        stack: Initial stack of each player, in big blinds.
        buckets: Number of hand buckets on flop, turn and river; before the flop there are the 169 classes up to suits.
    """
    tree = compile_tree(NoLimitBetting(sizes, stack * sizes.blinds[1]))
    return PokerGame("holdem", tree, (len(CLASSES), *buckets), hands=CLASSES)


def holdem_of(betting: str, stack: int, flop: int, turn: int, river: int) -> PokerGame:
    """Return hold'em for the values of the task's parameters."""
    return holdem(sizes_of(betting), stack, (flop, turn, river))
