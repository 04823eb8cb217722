"""The compiled loops over environments, which release the GIL.

Writes observations, a word at a time.

The bits of an observation are those of its planes, one after the other, each row by row. A row of a plane of the state
is one word, so what an agent sees of it is one shift and one mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from ..fields import DECIDES, Array
from ..kernel_tables import forget
from ..native import ALL_LEGAL, compiled, episode_seed, inlined
from ..simulated import in_python_or
from .bots import bot_action
from .layout import ACTION_NAMES, COLUMN, EPISODES, HARE, RETURN, ROW, RUN_SEED, STAG, STEPS, TAKEN, TERMS, TIMES, Bytes
from .rules import NO_BITS, ONE, agent_at, begin, draw_grid, flip, play_turn
from .views import GridBoards, GridViews, Scene, views

ALL_BITS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
BYTE = np.uint64(8)


def _write_word(_context: Any, array: Any, at: Any, word: Any) -> Any:

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data  # type: ignore[no-untyped-call]
        place = builder.bitcast(builder.gep(data, [arguments[1]]), arguments[2].type.as_pointer())
        builder.store(arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.void(array, at, word), build


def _write_word_in_python(array: Bytes, at: int, word: np.uint64) -> None:
    array[at : at + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


write_word = in_python_or(_write_word_in_python, intrinsic(_write_word))
"""Writes 8 bytes, from any byte on."""


@inlined
def times_seen(left: int) -> int:
    """Return how many of the planes of the time left are 1."""
    count = 0
    while count < TIMES and left >= 2 << count:
        count += 1
    return count


@inlined
def write_rest(out: Bytes, at: int, word: np.uint64, filled: int, ones: int) -> None:
    """Write a word of which `filled` bits are known and what follows it: `ones` bits of 1, then zeros to the end."""
    end = filled + ones
    rest = word | (ALL_BITS << np.uint64(filled))
    while at + 8 <= out.shape[0]:
        write_word(out, at, rest if end >= 64 else masked(rest, end))
        end, rest, at = max(0, end - 64), ALL_BITS, at + 8
    rest = rest if end >= 64 else masked(rest, end)
    while at < out.shape[0]:
        out[at] = np.uint8(rest & np.uint64(255))
        rest, at = rest >> BYTE, at + 1


@inlined
def masked(word: np.uint64, count: int) -> np.uint64:
    """Return the lowest `count` bits of a word, fewer than 64."""
    return word & ((ONE << np.uint64(count)) - ONE)


@inlined
def observe(s: Scene, agent: int, out: Bytes) -> None:
    """Write what an agent sees: the border, each kind of resource, the other agents, and the time left."""
    me, agents = agent_at(agent), s.g.kinds
    row, column = s.game[me + ROW], s.game[me + COLUMN]
    side = 2 * s.g.sight + 1
    shift, mask = np.uint64(column), (ONE << np.uint64(side)) - ONE
    word, filled, at = NO_BITS, 0, 0
    flip(s, agents, row, column)
    for plane in range(-1, agents + 1):
        first = row if plane < 0 else s.g.planes + plane * s.g.lines + row
        for line in range(first, first + side):
            bits = ((s.border[line] if plane < 0 else s.words[line]) >> shift) & mask
            word |= bits << np.uint64(filled)
            filled += side
            if filled >= 64:
                write_word(out, at, word)
                at += 8
                filled -= 64
                word = bits >> np.uint64(side - filled)
    flip(s, agents, row, column)
    write_rest(out, at, word, filled, times_seen(s.g.turns - s.game[STEPS]) * side * side)


@compiled
def observe_seats(s: Scene, out: Array, first: int) -> None:
    """Write the observations of the policy's agents into rows from `first` on."""
    for seat in range(s.g.players):
        observe(s, seat, out[first + seat])


ACTIONS = len(ACTION_NAMES)
BEST, SECOND, LAST = 1, 2, 3
"""Outcomes of the stag hunt; the treasure hunt has the first two."""


@inlined
def scene_of(v: GridViews, env: int) -> Scene:
    """Return one environment."""
    cells = v.boards.grid[env]
    return Scene(v.grid, v.ints[env], v.words[env], v.reals[env], cells, v.border, v.rewards, v.memory)


@inlined
def write_scores(s: Scene, scores: Array) -> None:
    """Write return and counts of every agent."""
    for agent in range(s.g.agents):
        me = agent_at(agent)
        scores[agent, 0] = s.reals[2 * (me + RETURN)]
        for term in range(TERMS):
            scores[agent, 1 + term] = s.game[me + TAKEN + term]


@compiled
def draw_boards(s: Scene, b: GridBoards, env: int) -> None:
    draw_grid(Scene(s.g, s.game, s.words, s.reals, b.grid[env], s.border, s.rewards, s.memory))
    write_scores(s, b.scores[env])


@inlined
def show(v: GridViews, s: Scene, slot: int, env: int) -> None:
    """Write the observations of a state."""
    observe_seats(s, v.observation[slot], env * s.g.players)
    for row in range(env * s.g.players, (env + 1) * s.g.players):
        v.common.active[slot, row] = DECIDES
    v.common.episode[env] = s.game[EPISODES] - 1


@inlined
def write_info(v: GridViews, s: Scene, slot: int, env: int) -> None:
    for seat in range(s.g.players):
        row, me = env * s.g.players + seat, agent_at(seat)
        v.counts.first[slot, row] = s.game[me + TAKEN]
        v.counts.second[slot, row] = s.game[me + TAKEN + 1]
        v.counts.third[slot, row] = s.game[me + TAKEN + 2]
    bots, total = s.g.agents - s.g.players, np.float32(0)
    if bots:
        for bot in range(s.g.players, s.g.agents):
            total += s.reals[2 * (agent_at(bot) + RETURN)]
        v.bot_return[slot, env, 0] = total / np.float32(bots)


@compiled
def next_episode(v: GridViews, s: Scene, env: int) -> None:
    seed = episode_seed(np.uint64(s.game[RUN_SEED]), np.uint64(env), np.uint64(s.game[EPISODES]))
    s.game[EPISODES] += 1
    begin(s, seed)
    draw_boards(s, v.boards, env)


@compiled
def reset_envs(table: Array, lo: int, slot: int, chosen: Array, seed: np.uint64) -> None:
    """Begin the next episode of the chosen environments and write their observations."""
    v = views(table)
    for index in range(chosen.shape[0]):
        if chosen[index]:
            env = lo + index
            s = scene_of(v, env)
            s.words[RUN_SEED], s.game[EPISODES] = seed, v.common.episode[env] + 1
            next_episode(v, s, env)
            write_info(v, s, slot, env)
            show(v, s, slot, env)
            forget(v.common, slot, env, s.g.players)


@compiled
def outcome_of(s: Scene) -> int:
    """Return how an episode ended, for all agents together."""
    total, stags, hares = np.float32(0), 0, 0
    for agent in range(s.g.agents):
        me = agent_at(agent)
        total += s.reals[2 * (me + RETURN)]
        stags += s.game[me + TAKEN + STAG]
        hares += s.game[me + TAKEN + HARE]
    if s.g.hunting:
        return LAST if stags + hares == 0 else BEST if stags > hares else SECOND
    return BEST if total > 0 else SECOND


@inlined
def write_rewards(v: GridViews, s: Scene, slot: int, env: int) -> None:
    for agent in range(s.g.agents):
        at, gains = 2 * (agent_at(agent) + RETURN), s.memory.gains[agent]
        reward = gains[0] + gains[1] + gains[2]
        s.reals[at] += reward
        if agent < s.g.players:
            row = env * s.g.players + agent
            for term in range(TERMS):
                v.common.terms[slot, row, term] = gains[term]
            v.common.reward[slot, row] = reward
            v.common.returns[slot, row] = s.reals[at]


@inlined
def finish(v: GridViews, s: Scene, slot: int, env: int) -> None:
    """Write the results of a turn, and begin a new episode if this one is over."""
    over = s.game[STEPS] >= s.g.turns
    write_rewards(v, s, slot, env)
    write_info(v, s, slot, env)
    v.common.length[slot, env] = s.game[STEPS]
    v.common.frames[slot, env] = 1
    v.common.outcome[slot, env] = outcome_of(s) if over else 0
    v.common.heartbeat[env] += np.uint64(1)
    for row in range(env * s.g.players, (env + 1) * s.g.players):
        v.common.terminated[slot, row] = over
        v.common.truncated[slot, row] = 0
    if over:
        observe_seats(s, v.final[slot % len(v.final)], env * s.g.players)
        if v.last_drawn[env]:
            draw_boards(s, v.last, env)
            v.last_drawn[env] = v.common.episode[env] + 1
        next_episode(v, s, env)
    else:
        write_scores(s, v.boards.scores[env])
    show(v, s, slot, env)


@compiled
def first_illegal(v: GridViews, lo: int, hi: int, slot: int) -> int:
    """Return the first row with an illegal action, or `ALL_LEGAL`."""
    actions = ACTIONS if v.grid.hunting else ACTIONS - 1
    for row in range(lo * v.grid.players, hi * v.grid.players):
        if not 0 <= v.common.action[slot, row] < actions:
            return row
    return ALL_LEGAL


@compiled
def step_envs(table: Array, lo: int, hi: int, slot: int, following: int) -> int:
    """Play a turn in every environment, or none and return the first row with an illegal action."""
    v = views(table)
    wrong = first_illegal(v, lo, hi, slot)
    if wrong != ALL_LEGAL:
        return wrong
    for env in range(lo, hi):
        s = scene_of(v, env)
        for seat in range(s.g.players):
            s.memory.actions[seat] = v.common.action[slot, env * s.g.players + seat]
        for bot in range(s.g.players, s.g.agents):
            s.memory.actions[bot] = bot_action(s, bot)
        play_turn(s)
        finish(v, s, following, env)
    return ALL_LEGAL


@compiled
def show_envs(table: Array, lo: int, hi: int, slot: int) -> None:
    """Write the observations, numbers and boards of states, including restored ones."""
    v = views(table)
    for env in range(lo, hi):
        s = scene_of(v, env)
        draw_boards(s, v.boards, env)
        write_info(v, s, slot, env)
        show(v, s, slot, env)
