"""Maps a bet that is not in a tree to one that is, at random: Ganzfried and Sandholm (2013)."""

from __future__ import annotations

from bisect import bisect_right

from .tree import Tree


def chance_of_smaller(smaller: float, larger: float, bet: float) -> float:
    """Return the probability with which `bet` is mapped to the smaller of two others: the pseudo-harmonic mapping.

    Args:
        smaller: A bet, as a share of the pot.
        larger: The next larger one.
        bet: One between them.
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
