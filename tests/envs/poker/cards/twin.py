"""Cards from their names, and what five of them are worth, as the rules of poker say it: slow, and plain to see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pac.envs.poker.cards.notation import DECK, card_text

WHEEL = [12, 3, 2, 1, 0]
CARDS = {card_text(card): card for card in range(DECK)}


def cards_of(text: str) -> list[int]:
    """Return the cards of a text: `AsKd7c`."""
    return [CARDS[text[at : at + 2]] for at in range(0, len(text), 2)]


def worth(hands: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the strengths of hands `(n, 5)` of cards; which numbers they are means nothing, only their order.

    The ranks of a hand are sorted by how often they come, then by height: that is the order in which they count.
    """
    ranks, suits = hands // 4, hands % 4
    often = (ranks[:, :, None] == ranks[:, None, :]).sum(axis=2, dtype=np.int8)
    order = np.sort(often * 16 + ranks, axis=1)[:, ::-1]
    often, ranks = order // 16, order % 16
    wheel = (ranks == WHEEL).all(axis=1)
    ranks = np.where(wheel[:, None], [3, 2, 1, 0, -1], ranks)
    straight = (often == 1).all(axis=1) & (ranks[:, 0] - ranks[:, 4] == 4)
    flush = (suits == suits[:, :1]).all(axis=1)
    first, then = often[:, 0], often[:, -1]
    category = np.select(
        [straight & flush, first == 4, (first == 3) & (then == 2), flush, straight, first == 3],
        [8, 7, 6, 5, 4, 3],
        np.where(first == 2, np.where(often[:, 3] == 2, 2, 1), 0),
    )
    value: NDArray[np.int64] = category * 16**5 + (ranks + 1) @ 16 ** np.arange(4, -1, -1)
    return value
