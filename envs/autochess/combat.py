"""A fight of two teams, from event to event, deterministic by its seed.

Every creature has the time of its next action and of its shot in flight; the earliest of all comes next. The effects
are in `blows` and `abilities`.
"""

from __future__ import annotations

import numpy as np

from ..native import below
from .abilities import cast
from .arena import (
    ABILITY_POWER,
    CAP,
    CHARGED_AT,
    COLUMNS,
    COUNT,
    DAMAGE,
    DEALT,
    DUE,
    DURATION,
    FULL_HP,
    HIT_AT,
    HIT_FOR,
    HIT_ON,
    MAX_PP,
    NEVER,
    NEXT,
    NO_WINNER,
    RANDOM,
    ROWS,
    SIDE,
    SLOTS,
    STANDING,
    SURVIVORS,
    TAKEN,
    TARGET,
    TEAM_WORDS,
    WAKING,
    WINNER,
    X,
    Y,
)
from .blows import PHYSICAL, blow, charge, distance, target_of
from .compiled import compiled
from .display import DUE as PICTURE_DUE
from .display import take_last, take_picture
from .kinds import ATTACK, CRIT, HP, PP, RANGE, SPEED
from .layout import Ints


@compiled
def enter(team: Ints, count: int, side: int, arena: Ints) -> None:
    """Put a team into the arena; side 1 faces side 0 from the opposite end."""
    for index in range(count):
        slot = arena[COUNT] + index
        for field in range(TEAM_WORDS):
            arena[field * SLOTS + slot] = team[index * TEAM_WORDS + field]
        if side == 1:
            arena[X * SLOTS + slot] = COLUMNS - 1 - arena[X * SLOTS + slot]
            arena[Y * SLOTS + slot] = ROWS - 1 - arena[Y * SLOTS + slot]
        arena[TAKEN] |= 1 << (arena[Y * SLOTS + slot] * COLUMNS + arena[X * SLOTS + slot])
        arena[SIDE + slot] = side
        arena[FULL_HP + slot] = arena[HP * SLOTS + slot]
        arena[PP * SLOTS + slot] *= 1000
        arena[NEXT + slot] = arena[DUE + slot] = below(arena, RANDOM, WAKING)
        arena[HIT_AT + slot] = NEVER
        arena[CHARGED_AT + slot] = 0
        arena[TARGET + slot] = -1
    arena[COUNT] += count
    arena[STANDING + side] = count


@compiled
def begin(one: Ints, one_count: int, other: Ints, other_count: int, seed: int, arena: Ints) -> None:
    """Put both teams into the arena; a random bit decides which acts first at equal times."""
    arena[RANDOM] = seed
    arena[COUNT] = arena[TAKEN] = arena[DEALT] = arena[DEALT + 1] = 0
    if below(arena, RANDOM, 2) == 0:
        enter(one, one_count, 0, arena)
        enter(other, other_count, 1, arena)
    else:
        enter(other, other_count, 1, arena)
        enter(one, one_count, 0, arena)


@compiled
def step_to(arena: Ints, slot: int, target: int) -> None:
    """Move to the free neighbouring cell nearest to the target, if that is nearer than here."""
    forward = 1 - 2 * arena[SIDE + slot]
    x, y = arena[X * SLOTS + slot], arena[Y * SLOTS + slot]
    to_x, to_y = arena[X * SLOTS + target], arena[Y * SLOTS + target]
    best, best_x, best_y = 16 * max(abs(to_x - x), abs(to_y - y)) + abs(to_x - x) + abs(to_y - y), x, y
    for step in range(9):
        new_x, new_y = x + forward * (step % 3 - 1), y + forward * (1 - step // 3)
        if 0 <= new_x < COLUMNS and 0 <= new_y < ROWS and not arena[TAKEN] >> (new_y * COLUMNS + new_x) & 1:
            across, along = abs(to_x - new_x), abs(to_y - new_y)
            far = 16 * max(across, along) + across + along
            if far < best:
                best, best_x, best_y = far, new_x, new_y
    arena[TAKEN] ^= 1 << (y * COLUMNS + x)
    arena[TAKEN] |= 1 << (best_y * COLUMNS + best_x)
    arena[X * SLOTS + slot] = best_x
    arena[Y * SLOTS + slot] = best_y


@compiled
def attack(arena: Ints, slot: int, target: int, time: int) -> None:
    """Strike the target, now if it is next to this one, else when the shot arrives."""
    damage = arena[ATTACK * SLOTS + slot]
    if below(arena, RANDOM, 100) < arena[CRIT * SLOTS + slot]:
        damage *= 2
    arena[PP * SLOTS + slot] += 5_000
    far = distance(arena, slot, target)
    if far <= 1:
        blow(arena, slot, target, damage, PHYSICAL)
    else:
        arena[HIT_AT + slot] = time + far * 100_000 // (3 * (100 + arena[SPEED * SLOTS + slot]))
        arena[HIT_ON + slot] = target
        arena[HIT_FOR + slot] = damage


@compiled
def act(arena: Ints, slot: int, time: int) -> None:
    """Cast, attack or move, whichever is possible first, and set the time of the next action."""
    charge(arena, slot, time)
    target = target_of(arena, slot)
    speed = arena[SPEED * SLOTS + slot]
    if distance(arena, slot, target) > arena[RANGE * SLOTS + slot]:
        step_to(arena, slot, target)
        arena[NEXT + slot] = time + (50_000 + (50 + speed) // 2) // (50 + speed)
        return
    slowness = 400 + 7 * speed
    arena[NEXT + slot] = time + (1_000_000 + slowness // 2) // slowness
    if arena[PP * SLOTS + slot] >= 1000 * arena[MAX_PP * SLOTS + slot]:
        arena[PP * SLOTS + slot] -= 1000 * arena[MAX_PP * SLOTS + slot]
        cast(arena, slot, target)
    else:
        attack(arena, slot, target, time)


@compiled
def happen(arena: Ints, slot: int, time: int) -> None:
    """Execute the next event of a creature: its shot arrives, or it acts."""
    if arena[HIT_AT + slot] <= arena[NEXT + slot]:
        arena[HIT_AT + slot] = NEVER
        target = arena[HIT_ON + slot]
        if arena[HP * SLOTS + target] > 0:
            blow(arena, slot, target, arena[HIT_FOR + slot], PHYSICAL)
    else:
        act(arena, slot, time)


@compiled
def earliest(arena: Ints) -> int:
    """The slot whose turn it is."""
    found, soonest = 0, arena[DUE]
    for slot in range(1, arena[COUNT]):
        if arena[DUE + slot] < soonest:
            found, soonest = slot, arena[DUE + slot]
    return found


@compiled
def conclude(arena: Ints, time: int, result: Ints) -> None:
    """Write the winner, the survivors, the damage dealt and the duration."""
    one, other = arena[STANDING], arena[STANDING + 1]
    result[WINNER] = NO_WINNER
    if one > 0 and other == 0:
        result[WINNER] = 0
    elif other > 0 and one == 0:
        result[WINNER] = 1
    for side in range(2):
        result[SURVIVORS + side] = arena[STANDING + side]
        result[DAMAGE + side] = arena[DEALT + side]
    result[DURATION] = time


@compiled
def fight(
    one: Ints, one_count: int, other: Ints, other_count: int, seed: int, arena: Ints, result: Ints, film: Ints
) -> None:
    """Fight until one side has fallen or 45 s have passed.

    Args:
        one: Rows of the team of side 0, flat.
        one_count: Number of rows.
        other: Rows of the team of side 1.
        other_count: Number of rows.
        seed: Seed of the fight.
        arena: `(ARENA_WORDS,)`, working memory; contains the survivors afterwards.
        result: `(RESULT_WORDS,)`.
        film: `(FILM_WORDS,)`, loaded to film the fight or not.
    """
    begin(one, one_count, other, other_count, seed, arena)
    time = 0
    while arena[STANDING] > 0 and arena[STANDING + 1] > 0:
        slot = earliest(arena)
        if arena[DUE + slot] > CAP:
            time = CAP
            break
        time = arena[DUE + slot]
        if time >= film[PICTURE_DUE]:
            take_picture(arena, film, time)
        happen(arena, slot, time)
        arena[DUE + slot] = min(arena[NEXT + slot], arena[HIT_AT + slot])
    take_last(arena, film)
    conclude(arena, time, result)


assert np.iinfo(np.int64).bits > ROWS * COLUMNS
assert ABILITY_POWER < TEAM_WORDS
