"""The rules of one hand over a betting tree, and the observation of a seat."""

from __future__ import annotations

from ..fields import Array
from ..native import below, inlined
from .cards.deal import deal
from .cards.evaluator import strength
from .cards.words import word_of
from .layout import BOARD, CHIPS, DEAL, HANDS, HISTORY, NODE, PLAYERS, RANDOM, STEPS
from .tree import DECISION, FOLD, STREET
from .views import GameArrays, PokerDimensions

NO_EDGE = -1


@inlined
def begin(r: GameArrays, n: PokerDimensions, hand: Array, seed: int) -> None:
    """Deal a hand with the random numbers of a seed."""
    hand[RANDOM] = seed
    hand[NODE] = hand[STEPS] = 0
    for word in range(HISTORY, n.words):
        hand[word] = 0
    if n.deals == 0:
        deal(hand[RANDOM : RANDOM + 1], hand[HANDS : BOARD + 5])
        return
    chosen = below(hand, RANDOM, n.deals)
    hand[DEAL] = chosen
    for player in range(PLAYERS):
        hand[HANDS + 2 * player] = r.hands[chosen, player]
    hand[BOARD] = r.face[chosen]


@inlined
def edge_of(r: GameArrays, node: int, number: int) -> int:
    """The edge below a decision that an action takes, or `NO_EDGE`."""
    for edge in range(r.first[node], r.first[node] + r.degree[node]):
        if r.number[edge] == number:
            return edge
    return NO_EDGE


@inlined
def act(r: GameArrays, hand: Array, number: int) -> bool:
    """Take a legal action and deal the next street; return whether the hand is over."""
    edge = edge_of(r, hand[NODE], number)
    hand[HISTORY + hand[STEPS]] = edge + 1
    hand[STEPS] += 1
    node = r.child[edge]
    while r.kind[node] == STREET:
        node = r.child[r.first[node]]
    hand[NODE] = node
    return bool(r.kind[node] != DECISION)


@inlined
def showdown(r: GameArrays, n: PokerDimensions, hand: Array) -> int:
    """Return whether seat 1 wins (1), loses (-1) or ties (0) at showdown."""
    if n.deals:
        return int(r.sign[hand[DEAL], r.result[hand[NODE]]])
    board = 0
    for card in range(BOARD, BOARD + 5):
        board |= word_of(hand[card])
    one = strength(board | word_of(hand[HANDS]) | word_of(hand[HANDS + 1]))
    other = strength(board | word_of(hand[HANDS + 2]) | word_of(hand[HANDS + 3]))
    return int(one > other) - int(one < other)


@inlined
def won(r: GameArrays, n: PokerDimensions, hand: Array) -> float:
    """Chips that seat 1 has won with a hand that is over."""
    node = hand[NODE]
    if r.kind[node] != FOLD:
        return float(showdown(r, n, hand) * min(r.paid[node, 0], r.paid[node, 1]))
    loser = r.player[node]
    return float(r.paid[node, 1] if loser else -r.paid[node, 0])


@inlined
def observe(r: GameArrays, n: PokerDimensions, hand: Array, seat: int, out: Array) -> None:
    """Write the observation of a seat; see `HandLayout.slices`."""
    out[:] = 0
    node = hand[NODE]
    street = r.on[node]
    out[seat] = 1
    at = PLAYERS
    for card in range(n.held):
        out[at + hand[HANDS + 2 * seat + card]] = 1
    at += n.cards
    if r.board[n.streets - 1]:
        for card in range(r.board[street]):
            out[at + hand[BOARD + card]] = 1
        at += n.cards
    out[at + street] = 1
    at += n.streets
    mine, others = r.paid[node, seat], r.paid[node, 1 - seat]
    out[at] = mine / n.most
    out[at + 1] = others / n.most
    out[at + 2] = max(others - mine, 0) / n.most
    write_history(r, n, hand, out[at + CHIPS :])


@inlined
def write_history(r: GameArrays, n: PokerDimensions, hand: Array, out: Array) -> None:
    """Set the element of each action of the hand, by street, place and number."""
    before, place = 0, 0
    for step in range(hand[STEPS]):
        edge = hand[HISTORY + step] - 1
        street = r.on[r.at[edge]]
        place = place + 1 if step and street == before else 0
        before = street
        out[(street * n.longest + place) * n.actions + r.number[edge]] = 1
