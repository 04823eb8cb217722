"""The compiled loops over environments, which release the GIL."""

from __future__ import annotations

import numpy as np

from ..fields import Array
from ..kernel_tables import forget
from ..native import ALL_LEGAL, compiled, episode_seed, inlined
from . import layout as at
from .bottle import row_of
from .layout import Bytes, Ints, Words, signed
from .plan import place_of, plan, survey
from .rules import begin, frame, lock, until_control
from .views import BottleViews, views

EVERY_BYTE = np.uint64(0x0101_0101_0101_0101)
DIAGONAL = np.uint64(0x8040_2010_0804_0201)
ROUND_UP = np.uint64(0x7F7F_7F7F_7F7F_7F7F)
TOP_BIT = np.uint64(7)
CODE_LEFT, CODE_RIGHT, CODE_TOP, CODE_BOTTOM = 4, 7, 10, 13
WEIGHTS = (1, 2, 3, 15, 3, 6, 9, 12)
"""What each plane adds to a cell's code: 1-3 single, 4-6 left, 7-9 right, 10-12 top, 13-15 bottom, 16-18 virus."""


@compiled
def observe(board: Words, game: Ints, planes: Words) -> None:
    """Write the 20 planes, two words each: the board's eight, then hand and preview, three for each of their halves."""
    for word in range(2 * at.PLANES):
        planes[word] = board[word]
    for half in range(4):
        color = game[at.FIRST + half]
        for plane in range(at.COLORS):
            start = 2 * (at.PLANES + at.COLORS * half + plane)
            planes[start] = planes[start + 1] = at.ALL_BITS if plane == color else at.NO_BITS


@compiled
def observe_pill(game: Ints, planes: Words) -> None:
    """Write three more planes: the falling pill's cells by color."""
    first = 2 * (at.PLANES + 4 * at.COLORS)
    for word in range(first, first + 2 * at.COLORS):
        planes[word] = at.NO_BITS
    if game[at.STAGE] == at.FALLING:
        row, column, turn = game[at.ROW], game[at.COLUMN], game[at.TURN]
        one = game[at.SECOND] if turn >= 2 else game[at.FIRST]
        other = game[at.FIRST] if turn >= 2 else game[at.SECOND]
        planes[first + 2 * one + (row >> 3)] |= np.uint64(1) << np.uint64(8 * (row & 7) + column)
        if turn & 1 == 0:
            planes[first + 2 * other + (row >> 3)] |= np.uint64(1) << np.uint64(8 * (row & 7) + column + 1)
        elif row > 0:
            planes[first + 2 * other + ((row - 1) >> 3)] |= np.uint64(1) << np.uint64(8 * ((row - 1) & 7) + column)


@compiled
def spread_bits(bits: int) -> np.uint64:
    """Return eight bits as eight bytes of 0 or 1, the lowest first."""
    spaced = (np.uint64(bits) * EVERY_BYTE) & DIAGONAL
    return ((spaced + ROUND_UP) >> TOP_BIT) & EVERY_BYTE


@compiled
def draw_bottle(board: Words, cells: Words) -> None:
    """Write the code of every cell, `(16,)` words of a row each."""
    for row in range(at.ROWS):
        codes = at.NO_BITS
        for plane in range(at.PLANES):
            bits = row_of(board[2 * plane], board[2 * plane + 1], row)
            if bits:
                codes += spread_bits(bits) * np.uint64(WEIGHTS[plane])
        cells[row] = codes


@compiled
def draw_pill(game: Ints, cells: Bytes) -> None:
    if game[at.STAGE] != at.FALLING:
        return
    cell, turn = game[at.ROW] * 8 + game[at.COLUMN], game[at.TURN]
    one = game[at.SECOND] if turn >= 2 else game[at.FIRST]
    other = game[at.FIRST] if turn >= 2 else game[at.SECOND]
    if turn & 1 == 0:
        cells[cell] = CODE_LEFT + one
        cells[cell + 1] = CODE_RIGHT + other
    else:
        cells[cell] = CODE_BOTTOM + one if cell >= 8 else 1 + one
        if cell >= 8:
            cells[cell - 8] = CODE_TOP + other


@compiled
def draw_next(game: Ints, cells: Bytes) -> None:
    """Draw the preview, two cells."""
    cells[0] = CODE_LEFT + game[at.NEXT_FIRST]
    cells[1] = CODE_RIGHT + game[at.NEXT_SECOND]


CLEAR_REWARD = np.float32(0.5)
VIRUS_REWARD = np.float32(0.5)
TOP_OUT_REWARD = np.float32(-1.0)
FRAME_BUTTONS = np.array(at.BUTTONS, np.int64)


@compiled
def is_legal(board: Words, action: int) -> bool:
    """Return whether the state's mask allows a placement; false if it is out of range."""
    if action < 0 or action >= at.ACTIONS:
        return False
    return bool((board[at.MASK + (action >> 6)] >> np.uint64(action & 63)) & np.uint64(1))


@compiled
def place(board: Words, game: Ints, action: int, scratch: Words, path: Array) -> None:
    """Play a legal placement until the next pill is under control or the episode is over."""
    game[at.CLOCK] += plan(board, game, action, scratch, path)
    row, column, turn = place_of(action)
    lock(board, game, row, column, turn)
    until_control(board, game)


@inlined
def show(v: BottleViews, slot: int, env: int) -> None:
    """Write the observation, the mask and the boards of a state."""
    board, game = v.words[env], v.ints[env]
    observe(board, game, v.observation[slot, env])
    if v.by_frame:
        observe_pill(game, v.observation[slot, env])
    else:
        for word in range(at.ACTIONS // 64):
            v.mask[slot, env, word] = board[at.MASK + word]
    draw_bottle(board, v.bottle[env])
    draw_pill(game, v.codes[env])
    draw_next(game, v.preview[env])
    v.common.active[slot, env] = 1
    v.common.episode[env] = signed(board[at.EPISODES]) - 1


@inlined
def show_last(v: BottleViews, env: int) -> None:
    """Write the boards of a state that ended an episode."""
    board, game = v.words[env], v.ints[env]
    draw_bottle(board, v.last_bottle[env])
    draw_pill(game, v.last_codes[env])
    draw_next(game, v.last_preview[env])
    v.last_drawn[env] = v.common.episode[env] + 1


@inlined
def write_info(v: BottleViews, slot: int, env: int) -> None:
    game = v.ints[env]
    v.viruses[slot, env] = game[at.VIRUSES]
    v.cleared[slot, env] = game[at.VIRUSES_AT_START] - game[at.VIRUSES]
    v.pills[slot, env] = game[at.PILLS]
    v.score[slot, env] = game[at.SCORE]
    v.speed_ups[slot, env] = game[at.SPEED_UPS]
    v.levels[slot, env] = game[at.LEVEL]


@inlined
def next_episode(v: BottleViews, env: int, level: int, speed: int) -> None:
    """Begin an environment's next episode."""
    board, game = v.words[env], v.ints[env]
    seed = episode_seed(board[at.RUN_SEED], np.uint64(env), board[at.EPISODES])
    board[at.EPISODES] += np.uint64(1)
    begin(board, game, seed, level, speed)
    if not v.by_frame:
        survey(board, game, v.scratch)


@compiled
def reset_envs(table: Array, lo: int, slot: int, chosen: Array, seed: np.uint64) -> None:
    """Begin the next episode of the chosen environments and write their observations."""
    v = views(table)
    for index in range(chosen.shape[0]):
        if chosen[index]:
            env = lo + index
            v.words[env, at.RUN_SEED], v.words[env, at.EPISODES] = seed, np.uint64(v.common.episode[env] + 1)
            next_episode(v, env, v.level, v.speed)
            write_info(v, slot, env)
            show(v, slot, env)
            forget(v.common, slot, env, 1)


@inlined
def finish(v: BottleViews, slot: int, env: int, viruses: int, clock: int) -> None:
    """Write the results of a step, given viruses and clock before it, and begin a new episode if this one is over."""
    board, game, reals = v.words[env], v.ints[env], v.reals[env]
    outcome = game[at.OUTCOME]
    virus_term = VIRUS_REWARD * np.float32(viruses - game[at.VIRUSES]) / np.float32(game[at.VIRUSES_AT_START])
    clear_term = CLEAR_REWARD if outcome == at.CLEARED else np.float32(0)
    top_term = TOP_OUT_REWARD if outcome == at.TOPPED_OUT else np.float32(0)
    reward = virus_term + clear_term + top_term
    reals[2 * at.RETURN] += reward
    game[at.STEPS] += 1
    v.common.terms[slot, env, 0] = virus_term
    v.common.terms[slot, env, 1] = clear_term
    v.common.terms[slot, env, 2] = top_term
    v.common.reward[slot, env] = reward
    v.common.returns[slot, env] = reals[2 * at.RETURN]
    v.common.length[slot, env] = game[at.STEPS]
    v.common.frames[slot, env] = game[at.CLOCK] - clock
    v.common.outcome[slot, env] = outcome
    v.common.terminated[slot, env] = outcome in (at.CLEARED, at.TOPPED_OUT)
    v.common.truncated[slot, env] = outcome == at.OUT_OF_TIME
    v.common.heartbeat[env] += np.uint64(1)
    write_info(v, slot, env)
    if outcome != at.RUNNING:
        observe(board, game, v.final[slot % len(v.final), env])
        if v.by_frame:
            observe_pill(game, v.final[slot % len(v.final), env])
        if v.last_drawn[env]:
            show_last(v, env)
        next_episode(v, env, game[at.LEVEL], game[at.SPEED])
    elif not v.by_frame:
        survey(board, game, v.scratch)
    show(v, slot, env)


@compiled
def step_placements(table: Array, lo: int, hi: int, slot: int, following: int) -> int:
    """Play one placement in every environment, or none and return the first environment with an illegal action."""
    v = views(table)
    for env in range(lo, hi):
        if not is_legal(v.words[env], v.common.action[slot, env]):
            return env
    for env in range(lo, hi):
        board, game = v.words[env], v.ints[env]
        viruses, clock = game[at.VIRUSES], game[at.CLOCK]
        place(board, game, v.common.action[slot, env], v.scratch, v.path)
        finish(v, following, env, viruses, clock)
    return ALL_LEGAL


@compiled
def step_frames(table: Array, lo: int, hi: int, slot: int, following: int) -> int:
    """Play one frame in every environment, or none and return the first one whose action is out of range."""
    v = views(table)
    for env in range(lo, hi):
        if not 0 <= v.common.action[slot, env] < FRAME_BUTTONS.shape[0]:
            return env
    for env in range(lo, hi):
        board, game = v.words[env], v.ints[env]
        viruses, clock = game[at.VIRUSES], game[at.CLOCK]
        frame(board, game, FRAME_BUTTONS[v.common.action[slot, env]])
        finish(v, following, env, viruses, clock)
    return ALL_LEGAL


@compiled
def show_envs(table: Array, lo: int, hi: int, slot: int) -> None:
    """Write the observations, masks, numbers and boards of states, including restored ones."""
    v = views(table)
    for env in range(lo, hi):
        if not v.by_frame:
            survey(v.words[env], v.ints[env], v.scratch)
        write_info(v, slot, env)
        show(v, slot, env)
