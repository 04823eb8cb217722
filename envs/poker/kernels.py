"""The rules of one hand over a betting tree, what seats and people see of it, and the loops over hands."""

from __future__ import annotations

import numpy as np

from ..fields import DECIDES, WAITS, Array
from ..native import ALL_LEGAL, below, compiled, episode_seed, inlined
from ..text import LETTER
from .cards.deal import deal
from .cards.evaluator import strength
from .cards.words import word_of
from .layout import BOARD, CHIPS, DEAL, EPISODES, HANDS, HISTORY, LAST, NODE, PLAYERS, RANDOM, RUN_SEED, STEPS
from .looks import (
    BOARD_LINE,
    CARD_WIDTH,
    CARDS,
    FIRST_STREET,
    LABEL,
    PAID_END,
    POINTER,
    POT_LINE,
    SEAT_COLORS,
    SEAT_LINES,
    STREET_COLUMN,
    TURN,
)
from .tree import DECISION, FOLD, STREET
from .views import GameArrays, HandViews, PokerDimensions, views

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
    observe_history(r, n, hand, out[at + CHIPS :])


@inlined
def observe_history(r: GameArrays, n: PokerDimensions, hand: Array, out: Array) -> None:
    """Set the element of each action of the hand, by street, place and number."""
    before, place = 0, 0
    for step in range(hand[STEPS]):
        edge = hand[HISTORY + step] - 1
        street = r.on[r.at[edge]]
        place = place + 1 if step and street == before else 0
        before = street
        out[(street * n.longest + place) * n.actions + r.number[edge]] = 1


ZERO, MINUS, PLUS = ord("0"), ord("-"), ord("+")
LAST_END = CARDS + 5


@compiled
def write_number(line: Array, end: int, number: int) -> int:
    """Write a number that ends in a column; return the column before it."""
    column = end
    while number > 0 or column == end:
        line[column] = ZERO + number % 10
        number //= 10
        column -= 1
    return column


@inlined
def write_card(r: GameArrays, line: Array, place: int, card: int) -> None:
    """Write a card at its place among others."""
    line[CARDS + place * CARD_WIDTH] = r.faces[card, 0]
    line[CARDS + place * CARD_WIDTH + 1] = r.faces[card, 1]


@inlined
def write_history(r: GameArrays, n: PokerDimensions, hand: Array, picture: Array) -> None:
    """Write each street's actions into its lines, in the colors of their seats."""
    first = STREET_COLUMN if n.streets > 1 else 0
    before, line, column = 0, FIRST_STREET, first
    for step in range(hand[STEPS]):
        edge = hand[HISTORY + step] - 1
        node = r.at[edge]
        if r.on[node] != before:
            before = r.on[node]
            line, column = FIRST_STREET + before * n.street_lines, first
        length = 0
        while length < LABEL and r.labels[edge, length]:
            length += 1
        if column + length > n.columns and line + 1 < FIRST_STREET + (before + 1) * n.street_lines:
            line, column = line + 1, first
        color = SEAT_COLORS[r.player[node]] << LETTER
        for letter in range(min(length, n.columns - column)):
            picture[line, column + letter] = r.labels[edge, letter] | color
        column += length + 1


@inlined
def draw(r: GameArrays, n: PokerDimensions, hand: Array, picture: Array) -> None:
    """Draw a hand, with both seats' cards."""
    for line in range(n.lines):  # Numba takes four seconds to compile the copy of a whole array
        for column in range(n.columns):
            picture[line, column] = r.template[line, column]
    node = hand[NODE]
    for seat in range(PLAYERS):
        row = picture[SEAT_LINES[seat]]
        for card in range(n.held):
            write_card(r, row, card, hand[HANDS + 2 * seat + card])
        if n.chips:
            write_number(row, PAID_END, int(r.paid[node, seat]))
        if r.kind[node] == DECISION and r.player[node] == seat:
            row[TURN] = POINTER
    for card in range(r.board[r.on[node]]):
        write_card(r, picture[BOARD_LINE], card, hand[BOARD + card])
    if n.chips:
        write_number(picture[POT_LINE], PAID_END, int(r.paid[node, 0] + r.paid[node, 1]))
    write_history(r, n, hand, picture)
    last = hand[LAST]
    sign = write_number(picture[n.lines - 1], LAST_END, abs(last))
    if last:
        picture[n.lines - 1, sign] = PLUS if last > 0 else MINUS


WAITING = 1
"""The mask of a seat that waits: it allows the first action."""
FIRST_WINS, SECOND_WINS, SPLIT = 1, 2, 3


@inlined
def write_mask(r: GameArrays, node: int, mask: Array) -> None:
    """Write which actions a decision allows."""
    mask[:] = 0
    for edge in range(r.first[node], r.first[node] + r.degree[node]):
        number = r.number[edge]
        mask[number >> 3] |= np.uint8(1 << (number & 7))


@inlined
def show(v: HandViews, r: GameArrays, n: PokerDimensions, slot: int, env: int) -> None:
    """Write observations, masks, numbers and the picture of a hand."""
    hand = v.state[env]
    node = hand[NODE]
    for seat in range(PLAYERS):
        row = env * PLAYERS + seat
        observe(r, n, hand, seat, v.observation[slot, row])
        if r.player[node] == seat:
            write_mask(r, node, v.mask[slot, row])
            v.common.active[slot, row] = DECIDES
        else:
            v.mask[slot, row, :] = 0
            v.mask[slot, row, 0] = WAITING
            v.common.active[slot, row] = WAITS
    draw(r, n, hand, v.picture[env])
    v.common.episode[env] = hand[EPISODES] - 1


@inlined
def write_info(v: HandViews, r: GameArrays, slot: int, env: int) -> None:
    node = v.state[env, NODE]
    v.pot[slot, env] = r.paid[node, 0] + r.paid[node, 1]
    v.street[slot, env] = r.on[node]


@inlined
def next_episode(v: HandViews, r: GameArrays, n: PokerDimensions, env: int) -> None:
    """Deal an environment's next hand."""
    hand = v.state[env]
    seed = episode_seed(np.uint64(hand[RUN_SEED]), np.uint64(env), np.uint64(hand[EPISODES]))
    hand[EPISODES] += 1
    begin(r, n, hand, int(seed))


@inlined
def write_end(v: HandViews, slot: int, env: int, over: bool, chips: float) -> None:
    """Write rewards, returns and the outcome: if the hand is over, seat 1 wins `chips` and seat 2 loses them."""
    for seat in range(PLAYERS):
        row = env * PLAYERS + seat
        v.common.reward[slot, row] = v.common.returns[slot, row] = -chips if seat else chips
        v.common.terminated[slot, row] = over
        v.common.truncated[slot, row] = 0
    v.common.outcome[slot, env] = 0
    if over:
        v.common.outcome[slot, env] = FIRST_WINS if chips > 0 else SECOND_WINS if chips < 0 else SPLIT


@compiled
def reset_envs(table: Array, lo: int, slot: int, chosen: Array, seed: np.uint64) -> None:
    """Begin the next hand of the chosen environments and write their observations."""
    v, r, n = views(table)
    for index in range(chosen.shape[0]):
        if chosen[index]:
            env = lo + index
            v.state[env, RUN_SEED], v.state[env, EPISODES] = seed, v.common.episode[env] + 1
            v.state[env, LAST] = 0
            next_episode(v, r, n, env)
            v.common.length[slot, env] = v.common.frames[slot, env] = 0
            write_end(v, slot, env, False, 0.0)
            write_info(v, r, slot, env)
            show(v, r, n, slot, env)


@inlined
def first_illegal(v: HandViews, r: GameArrays, lo: int, hi: int, slot: int) -> int:
    """Return the first row to act with an illegal action, or `ALL_LEGAL`."""
    for env in range(lo, hi):
        node = v.state[env, NODE]
        row = env * PLAYERS + r.player[node]
        if edge_of(r, node, v.common.action[slot, row]) == NO_EDGE:
            return int(row)
    return ALL_LEGAL


@compiled
def step_envs(table: Array, lo: int, hi: int, slot: int, following: int) -> int:
    """Step every hand by one action, or none and return the first row with an illegal action."""
    v, r, n = views(table)
    wrong = first_illegal(v, r, lo, hi, slot)
    if wrong != ALL_LEGAL:
        return wrong
    for env in range(lo, hi):
        hand = v.state[env]
        over = act(r, hand, v.common.action[slot, env * PLAYERS + r.player[hand[NODE]]])
        chips = won(r, n, hand) if over else 0.0
        v.common.length[following, env] = hand[STEPS]
        v.common.frames[following, env] = 1
        v.common.heartbeat[env] += np.uint64(1)
        write_end(v, following, env, over, chips)
        write_info(v, r, following, env)
        if over:
            for seat in range(PLAYERS):
                observe(r, n, hand, seat, v.final[following % len(v.final), env * PLAYERS + seat])
            hand[LAST] = int(chips)
            if v.last_drawn[env]:
                draw(r, n, hand, v.last_picture[env])
                v.last_drawn[env] = v.common.episode[env] + 1
            next_episode(v, r, n, env)
        show(v, r, n, following, env)
    return ALL_LEGAL


@compiled
def show_envs(table: Array, lo: int, hi: int, slot: int) -> None:
    """Write the observations, masks, numbers and pictures of states, including restored ones."""
    v, r, n = views(table)
    for env in range(lo, hi):
        write_info(v, r, slot, env)
        show(v, r, n, slot, env)
