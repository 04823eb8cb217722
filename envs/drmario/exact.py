"""The frame-by-frame search, for the rare pill that falls too fast for `reach.flood` to be sure.

A set of full controller states is `SET_WORDS` words of lanes: for each of three states of the rotation buttons (released, A
held, B held), one word per state of the arrows (`HOLDS`): none held, Left held with a charge of 0 to 15, Right held likewise.
Holding a rotation button longer than its frame never helps, nor does a soft drop, so neither is tried: the pill falls on the
frames on which gravity alone lets it fall.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .bottle import free_lanes, occupied
from .lanes import NOT_FIRST, NOT_LAST, SPAWN, clockwise, counterclockwise, turned, turned_left
from .layout import (
    HOLD_LEFT,
    HOLD_RIGHT,
    HOLDS,
    LOCKS,
    NO_BITS,
    PRESS_A,
    PRESS_B,
    ROWS,
    SET_WORDS,
    SETS,
    STARTS,
    Words,
)
from .rules import BLOCKED, CHARGED, RECHARGE

RELEASED = 0
A_HELD = 1
B_HELD = 2
NEUTRAL = 0
LEFT_0 = 1
RIGHT_0 = LEFT_0 + CHARGED


@njit(cache=True, nogil=True)
def pressable(sets: Words, at: int, press: int, hold: int) -> int:
    """Positions of an arrow state from which a rotation may be pressed: all for none, all but those that hold it already."""
    word = sets[at + hold]
    if press != A_HELD:
        word |= sets[at + A_HELD * HOLDS + hold]
    if press != B_HELD:
        word |= sets[at + B_HELD * HOLDS + hold]
    return np.int64(word)


@njit(cache=True, nogil=True)
def move(sets: Words, at: int, to: int, press: int, free: int) -> None:
    """Do the arrows of one frame for the states from which `press` is possible."""
    left, right = 0, 0
    for charge in range(CHARGED):
        here, there = pressable(sets, at, press, LEFT_0 + charge), pressable(sets, at, press, RIGHT_0 + charge)
        left |= here
        right |= there
        if charge < CHARGED - 1:
            sets[to + LEFT_0 + charge + 1] = np.uint64(here)
            sets[to + RIGHT_0 + charge + 1] = np.uint64(there)
    still = pressable(sets, at, press, NEUTRAL)
    sets[to + NEUTRAL] = np.uint64(still | left | right)
    repeat_left = pressable(sets, at, press, LEFT_0 + CHARGED - 1)
    repeat_right = pressable(sets, at, press, RIGHT_0 + CHARGED - 1)
    can_left, can_right = (free << 1) & NOT_LAST, (free >> 1) & NOT_FIRST
    tap_left, tap_right = still | right, still | left
    sets[to + LEFT_0] = np.uint64((tap_left & can_left) >> 1)
    sets[to + RIGHT_0] = np.uint64((tap_right & can_right) << 1)
    sets[to + LEFT_0 + RECHARGE] |= np.uint64((repeat_left & can_left) >> 1)
    sets[to + RIGHT_0 + RECHARGE] |= np.uint64((repeat_right & can_right) << 1)
    sets[to + LEFT_0 + BLOCKED] |= np.uint64((tap_left | repeat_left) & ~can_left)
    sets[to + RIGHT_0 + BLOCKED] |= np.uint64((tap_right | repeat_right) & ~can_right)


@njit(cache=True, nogil=True)
def turn(sets: Words, to: int, press: int, free: int) -> None:
    """Do the rotation of one frame for all arrow states."""
    for hold in range(HOLDS):
        if sets[to + hold] != NO_BITS:
            word = np.int64(sets[to + hold])
            word = clockwise(word) if press == A_HELD else counterclockwise(word)
            held_left = LEFT_0 <= hold < RIGHT_0
            sets[to + hold] = np.uint64(turned_left(word, free) if held_left else turned(word, free))


@njit(cache=True, nogil=True)
def advance(sets: Words, at: int, to: int, free: int) -> None:
    """One frame without a fall: from the set at `at` to the one at `to`, under every choice of buttons."""
    for press in (RELEASED, A_HELD, B_HELD):
        move(sets, at, to + press * HOLDS, press, free)
        if press != RELEASED:
            turn(sets, to + press * HOLDS, press, free)


@njit(cache=True, nogil=True)
def enter(sets: Words, at: int, free: int) -> int:
    """Let the whole set fall into a row where `free` are possible; returns the positions that lock instead."""
    locks = 0
    for word in range(at, at + SET_WORDS):
        here = np.int64(sets[word])
        locks |= here & ~free
        sets[word] = np.uint64(here & free)
    return locks


@njit(cache=True, nogil=True)
def search(board: Words, frames: int, scratch: Words) -> None:
    """Find all positions that lock, row by row.

    Args:
        board: The state's words.
        frames: Frames per row.
        scratch: Receives the locking positions of every row at `LOCKS`, and the set with which every row begins at `STARTS`.
    """
    low, high = occupied(board)
    now, then = SETS, SETS + SET_WORDS
    for word in range(now, now + SET_WORDS):
        scratch[word] = NO_BITS
    scratch[now] = np.uint64(SPAWN)
    free = free_lanes(low, high, 0)
    for row in range(ROWS):
        for word in range(SET_WORDS):
            scratch[STARTS + row * SET_WORDS + word] = scratch[now + word]
        for _ in range(frames if row > 0 else frames - 1):
            advance(scratch, now, then, free)
            now, then = then, now
        free = free_lanes(low, high, row + 1)
        scratch[LOCKS + row] = np.uint64(enter(scratch, now, free))
