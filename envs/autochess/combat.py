"""A fight of two teams, from event to event, deterministic by its seed.

Every creature has the time of its next action and of its shot in flight; the earliest of all comes next. The effects
are in `blows` and `abilities`.
"""

from __future__ import annotations

import numpy as np

from ..native import below, compiled
from . import arena as at
from .abilities import cast
from .blows import PHYSICAL, blow, charge, distance, target_of
from .display import DUE as PICTURE_DUE
from .display import take_last, take_picture
from .kinds import ATTACK, CRIT, HP, PP, RANGE, SPEED
from .layout import Ints


@compiled
def enter(team: Ints, count: int, side: int, arena: Ints) -> None:
    """Put a team into the arena; side 1 faces side 0 from the opposite end."""
    for index in range(count):
        slot = arena[at.COUNT] + index
        for field in range(at.TEAM_WORDS):
            arena[field * at.SLOTS + slot] = team[index * at.TEAM_WORDS + field]
        if side == 1:
            arena[at.X * at.SLOTS + slot] = at.COLUMNS - 1 - arena[at.X * at.SLOTS + slot]
            arena[at.Y * at.SLOTS + slot] = at.ROWS - 1 - arena[at.Y * at.SLOTS + slot]
        arena[at.TAKEN] |= 1 << (arena[at.Y * at.SLOTS + slot] * at.COLUMNS + arena[at.X * at.SLOTS + slot])
        arena[at.SIDE + slot] = side
        arena[at.FULL_HP + slot] = arena[HP * at.SLOTS + slot]
        arena[PP * at.SLOTS + slot] *= 1000
        arena[at.NEXT + slot] = arena[at.DUE + slot] = below(arena, at.RANDOM, at.WAKING)
        arena[at.HIT_AT + slot] = at.NEVER
        arena[at.CHARGED_AT + slot] = 0
        arena[at.TARGET + slot] = -1
    arena[at.COUNT] += count
    arena[at.STANDING + side] = count


@compiled
def begin(one: Ints, one_count: int, other: Ints, other_count: int, seed: int, arena: Ints) -> None:
    """Put both teams into the arena; a random bit decides which acts first at equal times."""
    arena[at.RANDOM] = seed
    arena[at.COUNT] = arena[at.TAKEN] = arena[at.DEALT] = arena[at.DEALT + 1] = 0
    if below(arena, at.RANDOM, 2) == 0:
        enter(one, one_count, 0, arena)
        enter(other, other_count, 1, arena)
    else:
        enter(other, other_count, 1, arena)
        enter(one, one_count, 0, arena)


@compiled
def step_to(arena: Ints, slot: int, target: int) -> None:
    """Move to the free neighbouring cell nearest to the target, if that is nearer than here."""
    forward = 1 - 2 * arena[at.SIDE + slot]
    x, y = arena[at.X * at.SLOTS + slot], arena[at.Y * at.SLOTS + slot]
    to_x, to_y = arena[at.X * at.SLOTS + target], arena[at.Y * at.SLOTS + target]
    best, best_x, best_y = 16 * max(abs(to_x - x), abs(to_y - y)) + abs(to_x - x) + abs(to_y - y), x, y
    for step in range(9):
        new_x, new_y = x + forward * (step % 3 - 1), y + forward * (1 - step // 3)
        if 0 <= new_x < at.COLUMNS and 0 <= new_y < at.ROWS and not arena[at.TAKEN] >> (new_y * at.COLUMNS + new_x) & 1:
            across, along = abs(to_x - new_x), abs(to_y - new_y)
            far = 16 * max(across, along) + across + along
            if far < best:
                best, best_x, best_y = far, new_x, new_y
    arena[at.TAKEN] ^= 1 << (y * at.COLUMNS + x)
    arena[at.TAKEN] |= 1 << (best_y * at.COLUMNS + best_x)
    arena[at.X * at.SLOTS + slot] = best_x
    arena[at.Y * at.SLOTS + slot] = best_y


@compiled
def attack(arena: Ints, slot: int, target: int, time: int) -> None:
    """Strike the target, now if it is next to this one, else when the shot arrives."""
    damage = arena[ATTACK * at.SLOTS + slot]
    if below(arena, at.RANDOM, 100) < arena[CRIT * at.SLOTS + slot]:
        damage *= 2
    arena[PP * at.SLOTS + slot] += 5_000
    far = distance(arena, slot, target)
    if far <= 1:
        blow(arena, slot, target, damage, PHYSICAL)
    else:
        arena[at.HIT_AT + slot] = time + far * 100_000 // (3 * (100 + arena[SPEED * at.SLOTS + slot]))
        arena[at.HIT_ON + slot] = target
        arena[at.HIT_FOR + slot] = damage


@compiled
def act(arena: Ints, slot: int, time: int) -> None:
    """Cast, attack or move, whichever is possible first, and set the time of the next action."""
    charge(arena, slot, time)
    target = target_of(arena, slot)
    speed = arena[SPEED * at.SLOTS + slot]
    if distance(arena, slot, target) > arena[RANGE * at.SLOTS + slot]:
        step_to(arena, slot, target)
        arena[at.NEXT + slot] = time + (50_000 + (50 + speed) // 2) // (50 + speed)
        return
    slowness = 400 + 7 * speed
    arena[at.NEXT + slot] = time + (1_000_000 + slowness // 2) // slowness
    if arena[PP * at.SLOTS + slot] >= 1000 * arena[at.MAX_PP * at.SLOTS + slot]:
        arena[PP * at.SLOTS + slot] -= 1000 * arena[at.MAX_PP * at.SLOTS + slot]
        cast(arena, slot, target)
    else:
        attack(arena, slot, target, time)


@compiled
def happen(arena: Ints, slot: int, time: int) -> None:
    """Execute the next event of a creature: its shot arrives, or it acts."""
    if arena[at.HIT_AT + slot] <= arena[at.NEXT + slot]:
        arena[at.HIT_AT + slot] = at.NEVER
        target = arena[at.HIT_ON + slot]
        if arena[HP * at.SLOTS + target] > 0:
            blow(arena, slot, target, arena[at.HIT_FOR + slot], PHYSICAL)
    else:
        act(arena, slot, time)


@compiled
def earliest(arena: Ints) -> int:
    """Return the slot with the earliest event."""
    found, soonest = 0, arena[at.DUE]
    for slot in range(1, arena[at.COUNT]):
        if arena[at.DUE + slot] < soonest:
            found, soonest = slot, arena[at.DUE + slot]
    return found


@compiled
def conclude(arena: Ints, time: int, result: Ints) -> None:
    """Write the winner, the survivors, the damage dealt and the duration."""
    one, other = arena[at.STANDING], arena[at.STANDING + 1]
    result[at.WINNER] = at.NO_WINNER
    if one > 0 and other == 0:
        result[at.WINNER] = 0
    elif other > 0 and one == 0:
        result[at.WINNER] = 1
    for side in range(2):
        result[at.SURVIVORS + side] = arena[at.STANDING + side]
        result[at.DAMAGE + side] = arena[at.DEALT + side]
    result[at.DURATION] = time


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
    while arena[at.STANDING] > 0 and arena[at.STANDING + 1] > 0:
        slot = earliest(arena)
        if arena[at.DUE + slot] > at.CAP:
            time = at.CAP
            break
        time = arena[at.DUE + slot]
        if time >= film[PICTURE_DUE]:
            take_picture(arena, film, time)
        happen(arena, slot, time)
        arena[at.DUE + slot] = min(arena[at.NEXT + slot], arena[at.HIT_AT + slot])
    take_last(arena, film)
    conclude(arena, time, result)


assert np.iinfo(np.int64).bits > at.ROWS * at.COLUMNS
assert at.ABILITY_POWER < at.TEAM_WORDS
