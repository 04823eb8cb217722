"""The effects of attacks: targets, damage, shields and death."""

from __future__ import annotations

from ..native import compiled
from . import arena as at
from .kinds import DEFENCE, DRAINING, HP, PP, RANGE, SHIELD, SPECIAL_DEFENCE
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
