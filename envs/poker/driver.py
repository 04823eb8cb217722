"""Hands `lo..hi` of the buffers, stepped by the compiled kernels; and which states are possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import Kernels, NativeGame
from ..fields import Array
from .families import FAMILIES
from .kernels import reset_envs, show_envs, step_envs
from .layout import BOARD, DEAL, EPISODES, HANDS, HISTORY, LAST, NODE, STEPS
from .tree import DECISION, STREET
from .views import TABLE, GameArrays, PokerDimensions, PokerViews, views_of

KERNELS = Kernels(reset_envs, step_envs, show_envs)


def possible(v: PokerViews, hands: Array) -> NDArray[np.bool_]:
    """Return which of `(environments, words)` hands are possible.

    The cards of a possible hand exist and are different, and its actions lead to its node.
    """
    r, n = v.game, v.dimensions
    last = (hands[:, LAST] >= -n.most) & (hands[:, LAST] <= n.most)
    found: NDArray[np.bool_] = _dealt(r, n, hands) & _led(r, n, hands) & last
    return found


def _dealt(r: GameArrays, n: PokerDimensions, hands: Array) -> Array:
    if n.deals == 0:
        cards = np.sort(hands[:, HANDS : BOARD + 5], axis=1)
        held: Array = (cards[:, 0] >= 0) & (cards[:, -1] < n.cards) & (np.diff(cards, axis=1) > 0).all(axis=1)
        return held
    known = (hands[:, DEAL] >= 0) & (hands[:, DEAL] < n.deals)
    deal = np.where(known, hands[:, DEAL], 0)
    held = (hands[:, [HANDS, HANDS + 2]] == r.hands[deal]).all(axis=1)
    same: Array = known & held & (hands[:, BOARD] == r.face[deal])
    return same


def _led(r: GameArrays, n: PokerDimensions, hands: Array) -> Array:
    moves = n.words - HISTORY
    led = (hands[:, STEPS] >= 0) & (hands[:, STEPS] <= moves)
    node = np.zeros(len(hands), np.int64)
    for step in range(min(moves, int(hands[led, STEPS].max(initial=0)))):
        edge, going = hands[:, HISTORY + step] - 1, led & (step < hands[:, STEPS])
        led &= ~going | ((edge >= r.first[node]) & (edge - r.first[node] < r.degree[node]))
        node = np.where(going & led, r.child[np.where(going & led, edge, 0)], node)
        while (dealing := r.kind[node] == STREET).any():
            node[dealing] = r.child[r.first[node[dealing]]]
    there: Array = led & (node == hands[:, NODE]) & (r.kind[node] == DECISION)
    return there


GAME = NativeGame(TABLE, views_of, EPISODES, lambda _: KERNELS, possible, (next(iter(FAMILIES)),))
