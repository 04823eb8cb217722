"""The effects of attacks: targets, damage, shields and death."""

from __future__ import annotations

from .arena import (
    CHARGED_AT,
    COLUMNS,
    COUNT,
    DEALT,
    DUE,
    FULL_HP,
    HIT_AT,
    NEVER,
    NEXT,
    SIDE,
    SLOTS,
    STANDING,
    TAKEN,
    TARGET,
    X,
    Y,
)
from .compiled import compiled
from .kinds import DEFENCE, DRAINING, HP, PP, RANGE, SHIELD, SPECIAL_DEFENCE
from .layout import Ints

PHYSICAL, SPECIAL, TRUE = 0, 1, 2


@compiled
def distance(arena: Ints, one: int, other: int) -> int:
    """Chebyshev distance of two creatures."""
    across = abs(arena[X * SLOTS + one] - arena[X * SLOTS + other])
    along = abs(arena[Y * SLOTS + one] - arena[Y * SLOTS + other])
    return int(max(across, along))


@compiled
def target_of(arena: Ints, slot: int) -> int:
    """Return the last target while it is alive and in range, or else the nearest enemy."""
    kept = arena[TARGET + slot]
    if kept >= 0 and arena[HP * SLOTS + kept] > 0 and distance(arena, slot, kept) <= arena[RANGE * SLOTS + slot]:
        return int(kept)
    nearest, least = -1, COLUMNS + 1
    for other in range(arena[COUNT]):
        if arena[SIDE + other] != arena[SIDE + slot] and arena[HP * SLOTS + other] > 0:
            far = distance(arena, slot, other)
            if far < least:
                nearest, least = other, far
    arena[TARGET + slot] = nearest
    return nearest


@compiled
def charge(arena: Ints, slot: int, time: int) -> None:
    """Add 10 PP per second since the last call."""
    arena[PP * SLOTS + slot] += 10 * (time - arena[CHARGED_AT + slot])
    arena[CHARGED_AT + slot] = time


@compiled
def fall(arena: Ints, slot: int) -> None:
    """Remove a creature from the fight; its shots in flight still arrive."""
    arena[STANDING + arena[SIDE + slot]] -= 1
    arena[TAKEN] ^= 1 << (arena[Y * SLOTS + slot] * COLUMNS + arena[X * SLOTS + slot])
    arena[NEXT + slot] = NEVER
    arena[DUE + slot] = arena[HIT_AT + slot]


@compiled
def reduced(arena: Ints, slot: int, damage: int, sort: int) -> int:
    """Damage after the defence against its sort, rounded up, at least 1."""
    if sort == TRUE:
        return max(1, damage)
    defence = arena[DEFENCE * SLOTS + slot] if sort == PHYSICAL else arena[SPECIAL_DEFENCE * SLOTS + slot]
    return int(max(1, (20 * damage + 19 + defence) // (20 + defence)))


@compiled
def heal(arena: Ints, slot: int, amount: int) -> None:
    """Heal a living creature, up to its initial life."""
    if arena[HP * SLOTS + slot] > 0:
        arena[HP * SLOTS + slot] = min(arena[FULL_HP + slot], arena[HP * SLOTS + slot] + amount)


@compiled
def blow(arena: Ints, slot: int, target: int, damage: int, sort: int) -> None:
    """Damage a living creature, first its shield, then its life. It gains PP; the attacker gains what it drains."""
    damage = reduced(arena, target, damage, sort)
    arena[DEALT + arena[SIDE + slot]] += damage
    arena[PP * SLOTS + target] += 1_000 * ((damage + 9) // 10)
    heal(arena, slot, damage * arena[DRAINING * SLOTS + slot] // 100)
    kept = min(arena[SHIELD * SLOTS + target], damage)
    arena[SHIELD * SLOTS + target] -= kept
    arena[HP * SLOTS + target] -= damage - kept
    if arena[HP * SLOTS + target] <= 0:
        fall(arena, target)
