"""A fight of two teams, from event to event, deterministic by its seed.

Every creature has the time of its next action and of its shot in flight; the earliest of all comes next. Each has one
of ten abilities, cast instead of an attack when its PP are full.
"""

from __future__ import annotations

import numpy as np

from ..native import below, compiled
from . import views as at
from .creatures import (
    ATTACK,
    BLAST,
    CRIT,
    DEFENCE,
    DRAIN,
    DRAINING,
    FRENZY,
    HP,
    LANCE,
    MEND,
    POWER,
    PP,
    RALLY,
    RANGE,
    SHIELD,
    SNIPE,
    SPECIAL_DEFENCE,
    SPEED,
    STRIKE,
    STUN,
    WARD,
)
from .display import DUE as PICTURE_DUE
from .display import take_last, take_picture
from .layout import Ints

PHYSICAL, SPECIAL, TRUE = 0, 1, 2


@compiled
def distance(arena: Ints, one: int, other: int) -> int:
    """Return the Chebyshev distance of two creatures."""
    across = abs(arena[at.X * at.SLOTS + one] - arena[at.X * at.SLOTS + other])
    along = abs(arena[at.Y * at.SLOTS + one] - arena[at.Y * at.SLOTS + other])
    return int(max(across, along))


@compiled
def target_of(arena: Ints, slot: int) -> int:
    """Return the last target while it is alive and in range, or else the nearest enemy."""
    kept = arena[at.TARGET + slot]
    if kept >= 0 and arena[HP * at.SLOTS + kept] > 0 and distance(arena, slot, kept) <= arena[RANGE * at.SLOTS + slot]:
        return int(kept)
    nearest, least = -1, at.COLUMNS + 1
    for other in range(arena[at.COUNT]):
        if arena[at.SIDE + other] != arena[at.SIDE + slot] and arena[HP * at.SLOTS + other] > 0:
            far = distance(arena, slot, other)
            if far < least:
                nearest, least = other, far
    arena[at.TARGET + slot] = nearest
    return nearest


@compiled
def charge(arena: Ints, slot: int, time: int) -> None:
    """Add 10 PP per second since the last call."""
    arena[PP * at.SLOTS + slot] += 10 * (time - arena[at.CHARGED_AT + slot])
    arena[at.CHARGED_AT + slot] = time


@compiled
def fall(arena: Ints, slot: int) -> None:
    """Remove a creature from the fight; its shots in flight still arrive."""
    arena[at.STANDING + arena[at.SIDE + slot]] -= 1
    arena[at.TAKEN] ^= 1 << (arena[at.Y * at.SLOTS + slot] * at.COLUMNS + arena[at.X * at.SLOTS + slot])
    arena[at.NEXT + slot] = at.NEVER
    arena[at.DUE + slot] = arena[at.HIT_AT + slot]


@compiled
def reduced(arena: Ints, slot: int, damage: int, sort: int) -> int:
    """Return the damage after the defense against its sort, rounded up, at least 1."""
    if sort == TRUE:
        return max(1, damage)
    defence = arena[DEFENCE * at.SLOTS + slot] if sort == PHYSICAL else arena[SPECIAL_DEFENCE * at.SLOTS + slot]
    return int(max(1, (20 * damage + 19 + defence) // (20 + defence)))


@compiled
def heal(arena: Ints, slot: int, amount: int) -> None:
    """Heal a living creature, up to its initial life."""
    if arena[HP * at.SLOTS + slot] > 0:
        arena[HP * at.SLOTS + slot] = min(arena[at.FULL_HP + slot], arena[HP * at.SLOTS + slot] + amount)


@compiled
def blow(arena: Ints, slot: int, target: int, damage: int, sort: int) -> None:
    """Damage a living creature, first its shield, then its life. It gains PP; the attacker gains what it drains."""
    damage = reduced(arena, target, damage, sort)
    arena[at.DEALT + arena[at.SIDE + slot]] += damage
    arena[PP * at.SLOTS + target] += 1_000 * ((damage + 9) // 10)
    heal(arena, slot, damage * arena[DRAINING * at.SLOTS + slot] // 100)
    kept = min(arena[SHIELD * at.SLOTS + target], damage)
    arena[SHIELD * at.SLOTS + target] -= kept
    arena[HP * at.SLOTS + target] -= damage - kept
    if arena[HP * at.SLOTS + target] <= 0:
        fall(arena, target)


MAX_SPEED = 300


@compiled
def is_living(arena: Ints, slot: int, side: int) -> bool:
    return bool(arena[at.SIDE + slot] == side and arena[HP * at.SLOTS + slot] > 0)


@compiled
def hasten(arena: Ints, slot: int, amount: int) -> None:
    """Make a creature faster for the rest of the fight."""
    arena[SPEED * at.SLOTS + slot] = min(MAX_SPEED, arena[SPEED * at.SLOTS + slot] + amount)


@compiled
def blast(arena: Ints, slot: int, target: int, power: int) -> None:
    """Special damage to the target, and to its neighbours half of it."""
    for other in range(arena[at.COUNT]):
        if is_living(arena, other, 1 - arena[at.SIDE + slot]) and distance(arena, other, target) <= 1:
            blow(arena, slot, other, power if other == target else power // 2, SPECIAL)


@compiled
def lance(arena: Ints, slot: int, target: int, power: int) -> None:
    """Special damage to all enemies in the target's column."""
    column = arena[at.X * at.SLOTS + target]
    for other in range(arena[at.COUNT]):
        if is_living(arena, other, 1 - arena[at.SIDE + slot]) and arena[at.X * at.SLOTS + other] == column:
            blow(arena, slot, other, 3 * power // 4, SPECIAL)


@compiled
def snipe(arena: Ints, slot: int, power: int) -> None:
    """True damage to the enemy with the least life."""
    weakest = -1
    for other in range(arena[at.COUNT]):
        if is_living(arena, other, 1 - arena[at.SIDE + slot]) and (
            weakest < 0 or arena[HP * at.SLOTS + other] < arena[HP * at.SLOTS + weakest]
        ):
            weakest = other
    blow(arena, slot, weakest, 3 * power // 4, TRUE)


@compiled
def mend(arena: Ints, slot: int, power: int) -> None:
    """Heal the friend that lacks the most life."""
    neediest, lack = slot, 0
    for other in range(arena[at.COUNT]):
        if is_living(arena, other, arena[at.SIDE + slot]):
            missing = arena[at.FULL_HP + other] - arena[HP * at.SLOTS + other]
            if missing > lack:
                neediest, lack = other, missing
    heal(arena, neediest, 2 * power)


@compiled
def ward(arena: Ints, slot: int, power: int) -> None:
    """Shield oneself, and one's neighbours half as much."""
    for other in range(arena[at.COUNT]):
        if is_living(arena, other, arena[at.SIDE + slot]) and distance(arena, other, slot) <= 1:
            arena[SHIELD * at.SLOTS + other] += power if other == slot else power // 2


@compiled
def stun(arena: Ints, slot: int, target: int, power: int) -> None:
    """Special damage, and the target acts 1.5 s later than it would have."""
    blow(arena, slot, target, power // 2, SPECIAL)
    if arena[HP * at.SLOTS + target] > 0:
        arena[at.NEXT + target] += at.STUN_TIME
        arena[at.DUE + target] = min(arena[at.NEXT + target], arena[at.HIT_AT + target])


@compiled
def rally(arena: Ints, slot: int, power: int) -> None:
    """All friends become faster, and all but the caller gain PP."""
    for other in range(arena[at.COUNT]):
        if is_living(arena, other, arena[at.SIDE + slot]):
            hasten(arena, other, 8 + power // 2)
            if other != slot:
                arena[PP * at.SLOTS + other] += 5_000


@compiled
def cast(arena: Ints, slot: int, target: int) -> None:
    """Use a creature's ability on its target, or on the creatures that it affects."""
    power = arena[at.ABILITY_POWER * at.SLOTS + slot] * (100 + arena[POWER * at.SLOTS + slot]) // 100
    ability = arena[at.ABILITY * at.SLOTS + slot]
    if ability == STRIKE:
        blow(arena, slot, target, power, SPECIAL)
    elif ability == BLAST:
        blast(arena, slot, target, power)
    elif ability == LANCE:
        lance(arena, slot, target, power)
    elif ability == SNIPE:
        snipe(arena, slot, power)
    elif ability == MEND:
        mend(arena, slot, power)
    elif ability == WARD:
        ward(arena, slot, power)
    elif ability == STUN:
        stun(arena, slot, target, power)
    elif ability == RALLY:
        rally(arena, slot, power)
    elif ability == FRENZY:
        hasten(arena, slot, 20)
        arena[ATTACK * at.SLOTS + slot] += 1 + power // 8
    elif ability == DRAIN:
        blow(arena, slot, target, 3 * power // 4, SPECIAL)
        heal(arena, slot, power // 2)


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
