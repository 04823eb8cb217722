"""The compiled loops over hands, which release the GIL."""

from __future__ import annotations

import numpy as np

from ..fields import DECIDES, WAITS, Array
from ..native import ALL_LEGAL, compiled, episode_seed, inlined
from .hand import NO_EDGE, act, begin, edge_of, observe, won
from .layout import EPISODES, LAST, NODE, PLAYERS, RUN_SEED, STEPS
from .picture import draw
from .views import GameArrays, HandViews, PokerDimensions, views

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
    """Write the info fields of a hand."""
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
