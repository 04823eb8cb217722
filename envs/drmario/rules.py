"""The rules, frame by frame.

A frame reads the held buttons. While a pill is under control, it is moved in the console's order: gravity, left and
right, rotation.

- Gravity: the counter goes up every frame, and the pill falls by one row when it exceeds the table's value. Every
  second frame (those with an odd number), Down as the only arrow makes it fall at once. Any fall sets the counter to
  0.
- Left and right: a newly pressed arrow moves at once; held, it moves again after 16 frames and then every 6. A
  blocked move sets the charge to 15, so that a held arrow tries again on every frame. The charge outlives the pill.
- Rotation: A turns clockwise, B counter-clockwise, each only when newly pressed. A pill that turns to lie and is
  blocked is tried one column to the left. If it is not blocked and Left is held, it moves one column to the left if
  it can.
- A pill that cannot fall locks. A half above the bottle's rim is lost, and the other one is a single.

Then no pill is under control. After 15 frames everything without support falls by one row, and again every 16 frames.
When nothing falls, lines of four vanish three frames later, and this repeats. If there are no lines, the next pill is
thrown, which takes 24 frames. Then the game is lost if one of the two cells where the pill appears is taken, and the
episode is truncated if it has lasted longer than its level allows. It is won on the frame on which the last virus
vanishes.
"""

from __future__ import annotations

import numpy as np

from ..native import compiled
from . import layout as at
from .bottle import drop, free_lanes, matched, occupied, put, remove
from .deal import deal, show_pills
from .layout import Ints, Words, signed

SPAWN_COLUMN = 3
CHARGED = 16
RECHARGE = 10
BLOCKED = 15
PASS_FRAMES = 16
MATCH_FRAMES = 3
THROW_FRAMES = 24
PILLS_PER_SPEED_UP = 10
MOST_SPEED_UPS = 49
SPEED_BASE = (15, 25, 31)
SCORE_BASE = (100, 200, 300)
MOST_DOUBLINGS = 5
FRAME_LIMITS = (8_000, 12_000, 14_000, 16_000)
"""The longest episode of levels 0-4, 5-9, 10-14 and from 15 on, in frames."""

GRAVITY_TABLE = np.array(
    [
        *range(69, 20, -2),
        *(19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 9, 8, 8, 7, 7, 6, 6),
        *([5] * 12 + [4] * 5 + [3] * 5 + [2] * 5 + [1] * 10 + [0]),
    ],
    np.int64,
)
"""Frames that a pill hangs beyond the first, by speed index."""


@compiled
def hang(game: Ints) -> int:
    """Return the counter value beyond which the pill falls."""
    return signed(GRAVITY_TABLE[SPEED_BASE[game[at.SPEED]] + game[at.SPEED_UPS]])


@compiled
def frame_limit(level: int) -> int:
    """Return the frames after which an episode is truncated, before the next pill comes under control."""
    return FRAME_LIMITS[min(level // 5, 3)]


@compiled
def fits(board: Words, row: int, column: int, turn: int) -> bool:
    if column < 0 or column >= 8:
        return False
    low, high = occupied(board)
    return (free_lanes(low, high, row) >> (8 * turn + column)) & 1 == 1


@compiled
def lock(board: Words, game: Ints, row: int, column: int, turn: int) -> None:
    """Put the pill in hand into the bottle; no pill is under control until the next one appears."""
    lying = turn & 1 == 0
    swapped = turn >= 2
    put(board, game[at.SECOND] if swapped else game[at.FIRST], row, column)
    if lying or row > 0:
        other_row, other_column = (row, column + 1) if lying else (row - 1, column)
        put(board, game[at.FIRST] if swapped else game[at.SECOND], other_row, other_column)
        put(board, at.LEFT if lying else at.BOTTOM, row, column)
        put(board, at.RIGHT if lying else at.TOP, other_row, other_column)
    game[at.PILLS] += 1
    game[at.CHAIN] = 0
    game[at.STAGE] = at.DROPPING
    game[at.WAIT] = PASS_FRAMES - 1


@compiled
def shift(board: Words, game: Ints, pressed: int) -> None:
    """Move the pill left or right by the held arrow."""
    held = game[at.HELD] & (at.HOLD_LEFT | at.HOLD_RIGHT)
    if held == 0:
        return
    if pressed & (at.HOLD_LEFT | at.HOLD_RIGHT):
        game[at.CHARGE] = 0
    else:
        game[at.CHARGE] += 1
        if game[at.CHARGE] < CHARGED:
            return
        game[at.CHARGE] = RECHARGE
    column = game[at.COLUMN] + (1 if held == at.HOLD_RIGHT else -1)
    if fits(board, game[at.ROW], column, game[at.TURN]):
        game[at.COLUMN] = column
    else:
        game[at.CHARGE] = BLOCKED


@compiled
def rotate(board: Words, game: Ints, pressed: int) -> None:
    """Turn the pill by the newly pressed button."""
    if pressed & (at.PRESS_A | at.PRESS_B) == 0:
        return
    turn = (game[at.TURN] + (3 if pressed & at.PRESS_A else 1)) & 3
    column = game[at.COLUMN]
    if fits(board, game[at.ROW], column, turn):
        beside = turn & 1 == 0 and game[at.HELD] & at.HOLD_LEFT and fits(board, game[at.ROW], column - 1, turn)
        game[at.TURN], game[at.COLUMN] = turn, column - 1 if beside else column
    elif turn & 1 == 0 and fits(board, game[at.ROW], column - 1, turn):
        game[at.TURN], game[at.COLUMN] = turn, column - 1


@compiled
def fall(board: Words, game: Ints) -> bool:
    """Apply gravity and soft drop; return whether the pill is still under control."""
    soft = game[at.CLOCK] & 1 == 1 and game[at.HELD] & at.ARROWS == at.HOLD_DOWN
    if not soft:
        game[at.GRAVITY] += 1
        if game[at.GRAVITY] <= hang(game):
            return True
    game[at.GRAVITY] = 0
    if fits(board, game[at.ROW] + 1, game[at.COLUMN], game[at.TURN]):
        game[at.ROW] += 1
        return True
    lock(board, game, game[at.ROW], game[at.COLUMN], game[at.TURN])
    return False


@compiled
def control(board: Words, game: Ints, buttons: int) -> None:
    """Play a frame of a pill under control."""
    pressed = buttons & ~game[at.HELD]
    game[at.HELD] = buttons
    if fall(board, game):
        shift(board, game, pressed)
        rotate(board, game, pressed)


@compiled
def vanish(board: Words, game: Ints) -> None:
    """Remove all lines, count and score their viruses, and set the next stage.

    The first virus that a pill removes, in however many passes, scores 100, 200 or 300 by speed; each further one
    twice the one before, up to 32 times the first.
    """
    hit_low, hit_high = matched(board)
    if (hit_low | hit_high) == at.NO_BITS:
        throw(board, game)
        return
    base = SCORE_BASE[game[at.SPEED]]
    viruses = remove(board, hit_low, hit_high)
    for _ in range(viruses):
        game[at.SCORE] += base << min(game[at.CHAIN], MOST_DOUBLINGS)
        game[at.CHAIN] += 1
    game[at.VIRUSES] -= viruses
    game[at.STAGE] = at.DROPPING
    game[at.WAIT] = PASS_FRAMES - 1
    if game[at.VIRUSES] == 0:
        game[at.STAGE], game[at.OUTCOME] = at.OVER, at.CLEARED


@compiled
def throw(board: Words, game: Ints) -> None:
    """Take the next pill in hand; every tenth one makes the game faster."""
    show_pills(board, game)
    if game[at.PILLS] % PILLS_PER_SPEED_UP == 0:
        game[at.SPEED_UPS] = min(game[at.SPEED_UPS] + 1, MOST_SPEED_UPS)
    game[at.STAGE] = at.THROWING
    game[at.WAIT] = THROW_FRAMES - 1


@compiled
def appear(board: Words, game: Ints) -> None:
    """Bring the pill in hand under control, unless the way is blocked or the time is up."""
    game[at.ROW], game[at.COLUMN], game[at.TURN], game[at.GRAVITY] = 0, SPAWN_COLUMN, 0, 0
    game[at.STAGE] = at.FALLING
    if not fits(board, game[at.ROW], game[at.COLUMN], game[at.TURN]):
        game[at.STAGE], game[at.OUTCOME] = at.OVER, at.TOPPED_OUT
    elif game[at.CLOCK] >= frame_limit(game[at.LEVEL]):
        game[at.STAGE], game[at.OUTCOME] = at.OVER, at.OUT_OF_TIME


@compiled
def settle(board: Words, game: Ints) -> None:
    """Do what follows a wait without control."""
    stage = game[at.STAGE]
    if stage == at.DROPPING:
        if drop(board):
            game[at.WAIT] = PASS_FRAMES - 1
        else:
            game[at.STAGE] = at.MATCHING
            game[at.WAIT] = MATCH_FRAMES - 1
    elif stage == at.MATCHING:
        vanish(board, game)
    elif stage == at.THROWING:
        appear(board, game)


@compiled
def frame(board: Words, game: Ints, buttons: int) -> None:
    """Play one frame.

    Args:
        board: The state's words.
        game: The same memory as signed integers.
        buttons: Those held, as bits.
    """
    if game[at.STAGE] == at.FALLING:
        control(board, game, buttons)
    elif game[at.WAIT] > 0:
        game[at.WAIT] -= 1
        game[at.HELD] = buttons
    else:
        settle(board, game)
        game[at.HELD] = buttons
    game[at.CLOCK] += 1


@compiled
def until_control(board: Words, game: Ints) -> None:
    """Play the frames without control, buttons released, until the next pill or the episode's end."""
    while game[at.STAGE] != at.FALLING and game[at.STAGE] != at.OVER:
        game[at.CLOCK] += game[at.WAIT]
        game[at.WAIT] = 0
        settle(board, game)
        game[at.CLOCK] += 1
    game[at.HELD] = 0


@compiled
def begin(board: Words, game: Ints, seed: np.uint64, level: int, speed: int) -> None:
    """Begin an episode with the first pill under control."""
    deal(board, game, seed, level, speed)
    appear(board, game)
