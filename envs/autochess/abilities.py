"""The ten abilities. Each creature has one, cast instead of an attack when its PP are full."""

from __future__ import annotations

from ..native import compiled
from . import arena as at
from .blows import SPECIAL, TRUE, blow, distance, heal
from .creatures import BLAST, DRAIN, FRENZY, LANCE, MEND, RALLY, SNIPE, STRIKE, STUN, WARD
from .kinds import ATTACK, HP, POWER, PP, SHIELD, SPEED
from .layout import Ints

MAX_SPEED = 300


@compiled
def is_living(arena: Ints, slot: int, side: int) -> bool:
    """Return whether a slot has a living creature of a side."""
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
