"""The frame-by-frame search, for pills that fall too fast for `reach.flood` to decide.

A set of full controller states is `SET_WORDS` words of lanes: for each of three states of the rotation buttons (none, A
held, B held), one word per state of the arrows (`HOLDS`): none held, Left held with a charge of 0 to 15, Right just
pressed. Inputs that never help are left out: a soft drop, a rotation button held longer than its frame, and Right held,
since its next move may as well be a press. Holding Left does help: it moves a pill that turns horizontal.

Words of one row: 32 bits, a byte of columns for each of a pill's four turns.

In turns 0 and 2 the pill is in columns c and c + 1, in turn 2 with the halves swapped. In turns 1 and 3 it is vertical
with the lower half in the row, in turn 1 with the first half below and in turn 3 above.
"""

from __future__ import annotations

import numpy as np

from ..native import compiled
from . import layout as at
from .bottle import free_lanes, occupied
from .layout import Bytes, Words, signed
from .rules import BLOCKED, CHARGED, RECHARGE, SPAWN_COLUMN

SPAWN = 1 << SPAWN_COLUMN
ALL_LANES = 0xFFFF_FFFF
FLAT_LANES = 0x00FF_00FF
NOT_FIRST = 0x7F7F_7F7F
NOT_LAST = 0xFEFE_FEFE


@compiled
def clockwise(word: int) -> int:
    """Return every position in the lane of its turn after A."""
    return (word >> 8) | ((word & 0xFF) << 24)


@compiled
def counterclockwise(word: int) -> int:
    """Return every position in the lane of its turn after B."""
    return ((word << 8) & ALL_LANES) | (word >> 24)


@compiled
def turned(word: int, free: int) -> int:
    """Return where turned pills end; `word` has them in the lanes of their new turn, before any kick."""
    blocked = word & ~free & FLAT_LANES
    return (word | ((blocked >> 1) & NOT_FIRST)) & free


@compiled
def turned_left(word: int, free: int) -> int:
    """Return where turned pills end while Left is held: those that now lie move one column left if they can."""
    fitting = word & free
    flat = fitting & FLAT_LANES
    moved = (flat >> 1) & NOT_FIRST & free
    stuck = flat & ~((moved << 1) & NOT_LAST)
    kicked = ((word & ~free & FLAT_LANES) >> 1) & NOT_FIRST & free
    return (fitting & ~FLAT_LANES) | moved | stuck | kicked


@compiled
def spread(word: int, free: int) -> int:
    """Return the positions that at most one elementary move reaches from `word`, if those in `free` are possible."""
    beside = ((word >> 1) & NOT_FIRST) | ((word << 1) & NOT_LAST)
    return word | (beside & free) | turned(clockwise(word), free) | turned(counterclockwise(word), free)


RELEASED, A_HELD, B_HELD = range(3)
NEUTRAL, LEFT_0 = 0, 1
RIGHT = LEFT_0 + CHARGED


@compiled
def pressable(sets: Words, start: int, press: int, hold: int) -> int:
    """Return the positions of an arrow state from which a rotation can be pressed: those that do not hold it yet."""
    word = sets[start + hold]
    if press != A_HELD:
        word |= sets[start + A_HELD * at.HOLDS + hold]
    if press != B_HELD:
        word |= sets[start + B_HELD * at.HOLDS + hold]
    return signed(word)


@compiled
def move(sets: Words, start: int, to: int, press: int, free: int) -> None:
    """Do the arrows of one frame for the states from which `press` is possible."""
    left = 0
    for charge in range(CHARGED):
        here = pressable(sets, start, press, LEFT_0 + charge)
        left |= here
        if charge < CHARGED - 1:
            sets[to + LEFT_0 + charge + 1] = np.uint64(here)
    still, right = pressable(sets, start, press, NEUTRAL), pressable(sets, start, press, RIGHT)
    repeat = pressable(sets, start, press, LEFT_0 + CHARGED - 1)
    can_left, can_right = (free << 1) & NOT_LAST, (free >> 1) & NOT_FIRST
    tap = still | right
    sets[to + NEUTRAL] = np.uint64(still | left | right)
    sets[to + RIGHT] = np.uint64(((still | left) & can_right) << 1)
    sets[to + LEFT_0] = np.uint64((tap & can_left) >> 1)
    sets[to + LEFT_0 + RECHARGE] |= np.uint64((repeat & can_left) >> 1)
    sets[to + LEFT_0 + BLOCKED] |= np.uint64((tap | repeat) & ~can_left)


@compiled
def turn(sets: Words, to: int, press: int, free: int) -> None:
    """Do the rotation of one frame for all arrow states."""
    for hold in range(at.HOLDS):
        if sets[to + hold] != at.NO_BITS:
            word = signed(sets[to + hold])
            word = clockwise(word) if press == A_HELD else counterclockwise(word)
            held_left = LEFT_0 <= hold < RIGHT
            sets[to + hold] = np.uint64(turned_left(word, free) if held_left else turned(word, free))


@compiled
def advance(sets: Words, start: int, to: int, free: int) -> None:
    """Play a frame without a fall: from the set at `start` to the one at `to`, under every choice of buttons."""
    for press in (RELEASED, A_HELD, B_HELD):
        move(sets, start, to + press * at.HOLDS, press, free)
        if press != RELEASED:
            turn(sets, to + press * at.HOLDS, press, free)


@compiled
def enter(sets: Words, start: int, free: int) -> int:
    """Move the whole set down into a row with `free` positions; return the positions that lock instead."""
    locks = 0
    for word in range(start, start + at.SET_WORDS):
        here = signed(sets[word])
        locks |= here & ~free
        sets[word] = np.uint64(here & free)
    return locks


@compiled
def search(board: Words, frames: int, scratch: Words) -> None:
    """Find all positions that lock, row by row.

    Args:
        board: The state's words.
        frames: Frames per row.
        scratch: Receives the locking positions of every row at `LOCKS`, and the set with which every row begins at
            `STARTS`.
    """
    low, high = occupied(board)
    now, then = signed(at.SETS), signed(at.SETS + at.SET_WORDS)
    for word in range(now, now + at.SET_WORDS):
        scratch[word] = at.NO_BITS
    scratch[now] = np.uint64(SPAWN)
    free = free_lanes(low, high, 0)
    for row in range(at.ROWS):
        for word in range(at.SET_WORDS):
            scratch[at.STARTS + row * at.SET_WORDS + word] = scratch[now + word]
        for _ in range(frames if row > 0 else frames - 1):
            advance(scratch, now, then, free)
            now, then = then, now
        free = free_lanes(low, high, row + 1)
        scratch[at.LOCKS + row] = np.uint64(enter(scratch, now, free))


@compiled
def slid(place: int, hold: int, to: int, free: int) -> int:
    """Return where a pill is after the arrows of a frame lead from one arrow state to another; 0 if they do not."""
    if to == NEUTRAL:
        return place
    if to == RIGHT:
        return 0 if hold == RIGHT else (place << 1) & NOT_LAST & free
    held = LEFT_0 <= hold < RIGHT
    if held and hold < RIGHT - 1:
        return place if to == hold + 1 else 0
    moved = (place >> 1) & NOT_FIRST & free
    if moved == 0:
        return place if to == LEFT_0 + BLOCKED else 0
    return moved if to == LEFT_0 + (RECHARGE if held else 0) else 0


@compiled
def leads(place: int, hold: int, to: int, press: int, free: int) -> int:
    """Return where a pill is after a frame that ends in an arrow state and a rotation; 0 if no frame does."""
    place = slid(place, hold, to, free)
    if place == 0 or press == RELEASED:
        return place
    word = clockwise(place) if press == A_HELD else counterclockwise(place)
    return turned_left(word, free) if LEFT_0 <= to < RIGHT else turned(word, free)


@compiled
def holder(sets: Words, start: int, place: int) -> int:
    """Return the index of a word of the set that contains `place`; `SET_WORDS` if none does."""
    for word in range(at.SET_WORDS):
        if signed(sets[start + word]) & place:
            return word
    return at.SET_WORDS


@compiled
def replay(scratch: Words, row: int, phases: int, free: int) -> int:
    """Return where the set is that a row holds after some frames."""
    now, then = at.SETS, at.SETS + at.SET_WORDS
    for word in range(at.SET_WORDS):
        scratch[now + word] = scratch[at.STARTS + row * at.SET_WORDS + word]
    for _ in range(phases):
        advance(scratch, now, then, free)
        now, then = then, now
    return now


@compiled
def earlier(sets: Words, start: int, word: int, place: int, free: int) -> tuple[int, int]:
    """Return a state of the set, as word and place, from which one frame leads to the given one."""
    press, to = word // at.HOLDS, word % at.HOLDS
    for source in range(at.SET_WORDS):
        if press == RELEASED or source // at.HOLDS != press:
            rest = signed(sets[start + source])
            while rest:
                bit = rest & -rest
                rest ^= bit
                if leads(bit, source % at.HOLDS, to, press, free) & place:
                    return source, bit
    return at.SET_WORDS, 0


@compiled
def first_time(board: Words, row: int, place: int, frames: int, scratch: Words) -> tuple[int, int]:
    """Return when the search first holds a position that falls straight to `row`: its row and the frames in it."""
    low, high = occupied(board)
    first = row
    while first > 0 and free_lanes(low, high, first - 1) & place:
        first -= 1
    for here in range(first, row + 1):
        free = free_lanes(low, high, here)
        for phases in range(1 if here > 0 else 0, frames + (1 if here > 0 else 0)):
            if holder(scratch, replay(scratch, here, phases, free), place) < at.SET_WORDS:
                return here, phases
    return row, 0


@compiled
def trace(board: Words, row: int, phases: int, place: int, frames: int, scratch: Words, path: Bytes) -> int:
    """Write the buttons that lead to a position, reached after some frames in a row; return their number."""
    low, high = occupied(board)
    total = phases if row == 0 else phases + row * frames - 1
    free = free_lanes(low, high, row)
    word = holder(scratch, replay(scratch, row, phases, free), place)
    for step in range(total):
        arrows, press = word % at.HOLDS, word // at.HOLDS
        held = 0 if arrows == NEUTRAL else (at.HOLD_LEFT if arrows < RIGHT else at.HOLD_RIGHT)
        path[total - 1 - step] = held | (0 if press == RELEASED else (at.PRESS_A if press == A_HELD else at.PRESS_B))
        phases -= 1
        word, place = earlier(scratch, replay(scratch, row, phases, free), word, place, free)
        if phases == 0 and row > 0:
            row -= 1
            phases = frames if row > 0 else frames - 1
            free = free_lanes(low, high, row)
    return total
