"""Seven scripted players of rising strength. They use the rules' own functions, whole turns at a time."""

from __future__ import annotations

import numpy as np

from ..native import below, compiled
from . import layout as at
from .bag import NO_CELL, board_size, copies_in, free_bench, line_of, shift, worth
from .layout import Ints
from .legal import pair, pick_legal, survey
from .market import buy, has_room, sell
from .tables import LINE_COST, LINE_TYPES, TYPES
from .teams import count_kinds
from .turn import buy_xp, combine, end_turn, pick, place_for, refresh

PURCHASES, COPIES_MATTER, KINDS_MATTER, SWAPS, COMBINES, LEVELS, RESERVE, ROLLS = range(8)
SKILLS = np.array(
    [
        [1, 0, 0, 0, 0, 0, 0, 0],
        [2, 0, 0, 0, 0, 0, 0, 0],
        [3, 1, 0, 0, 1, 0, 0, 0],
        [4, 1, 0, 0, 1, 1, 0, 0],
        [6, 1, 0, 1, 1, 1, 0, 0],
        [9, 1, 1, 1, 1, 1, 10, 3],
        [15, 1, 1, 1, 1, 2, 20, 12],
    ]
)
"""By strength: purchases per turn, whether copies and kinds matter, whether it swaps the best creatures in and combines
components, whether it buys experience (2: also with all spare gold), gold kept for interest, rolls per turn."""
PLENTY = 30
"""Gold above the reserve that counts as spare."""
RESERVE_STAGES = 20
LEVEL_STAGES = np.array([0, 0, 0, 2, 4, 7, 11, 15, 20, 26])
"""The stage at which a bot should have a level."""


@compiled
def score(game: Ints, me: int, species: int, skill: int) -> int:
    """Return how useful a creature is for a bot."""
    if SKILLS[skill, COPIES_MATTER] == 0:
        return 1 + below(game, at.RANDOM, 8)
    total = 4 * worth(species)
    for cell in range(at.CELLS):
        unit = game[me + at.UNIT + cell]
        if unit > 0 and line_of(unit) == line_of(species):
            total += 12 * copies_in(unit)
    if SKILLS[skill, KINDS_MATTER]:
        for place in range(TYPES):
            kind = LINE_TYPES[line_of(species), place]
            if kind != at.NOBODY:
                total += 2 * game[me + at.KIND + kind]
    return total


@compiled
def choose(game: Ints, me: int, skill: int) -> None:
    """Pick one of the offers, if any can be picked."""
    best, most = at.NOBODY, -1
    for offer in range(at.OFFERS):
        if pick_legal(game, me, offer):
            species = game[me + at.OFFER_UNIT + offer]
            liked = score(game, me, species, skill) if species > 0 else below(game, at.RANDOM, 8)
            if liked > most:
                best, most = offer, liked
    if best != at.NOBODY:
        pick(game, me, best)


@compiled
def clear_bench(game: Ints, me: int, skill: int) -> None:
    """Sell the least useful creature of a full bench."""
    if free_bench(game, me) != NO_CELL:
        return
    worst, least = NO_CELL, 1 << 30
    for cell in range(at.BENCH):
        liked = score(game, me, game[me + at.UNIT + cell], skill)
        if liked < least:
            worst, least = cell, liked
    sell(game, me, worst)


@compiled
def wanted(game: Ints, me: int, skill: int, reserve: int) -> int:
    """Return the most useful affordable slot of the shop, or -1."""
    best, most = at.NOBODY, 0
    for slot in range(at.SHOP_SLOTS):
        species = game[me + at.SHOP + slot]
        if species > 0 and game[me + at.GOLD] - LINE_COST[line_of(species)] >= reserve and has_room(game, me, species):
            liked = score(game, me, species, skill)
            if liked > most:
                best, most = slot, liked
    return best


@compiled
def shop(game: Ints, me: int, skill: int, reserve: int) -> None:
    """Buy the most useful creatures and roll, up to the bot's limits per turn."""
    purchases = SKILLS[skill, PURCHASES]
    for _ in range(1 + SKILLS[skill, ROLLS]):
        while purchases > 0:
            if SKILLS[skill, SWAPS]:
                swap_in(game, me)
                clear_bench(game, me, skill)
            slot = wanted(game, me, skill, reserve)
            if slot == at.NOBODY:
                break
            buy(game, me, slot)
            count_kinds(game, me)
            purchases -= 1
        if purchases == 0 or game[me + at.GOLD] <= reserve:
            return
        if game[me + at.GOLD] > reserve + 2 and SKILLS[skill, ROLLS] > 0:
            refresh(game, me)


@compiled
def swap_in(game: Ints, me: int) -> None:
    """Swap the most valuable creature of the bench with the least valuable of the board while that is better."""
    for _ in range(at.MAX_LEVEL):
        best, worst = NO_CELL, NO_CELL
        for cell in range(at.CELLS):
            unit = game[me + at.UNIT + cell]
            if unit > 0 and cell < at.BENCH and (best == NO_CELL or worth(unit) > worth(game[me + at.UNIT + best])):
                best = cell
            if unit > 0 and cell >= at.BENCH and (worst == NO_CELL or worth(unit) < worth(game[me + at.UNIT + worst])):
                worst = cell
        if best == NO_CELL:
            return
        if board_size(game, me) < game[me + at.LEVEL]:
            shift(game, me, best, place_for(game, me, game[me + at.UNIT + best]))
        elif worst != NO_CELL and worth(game[me + at.UNIT + best]) > worth(game[me + at.UNIT + worst]):
            shift(game, me, best, worst)
            place = place_for(game, me, game[me + at.UNIT + worst])
            if place != NO_CELL:
                shift(game, me, worst, place)
        else:
            return


@compiled
def level_up(game: Ints, me: int, skill: int, reserve: int) -> None:
    """Buy experience while below the level for the stage, or while there is spare gold."""
    while game[me + at.LEVEL] < at.MAX_LEVEL and game[me + at.GOLD] >= reserve + at.XP_COST:
        due = game[at.STAGE] >= LEVEL_STAGES[game[me + at.LEVEL] + 1]
        rich = SKILLS[skill, LEVELS] > 1 and game[me + at.GOLD] >= reserve + PLENTY
        if not due and not rich:
            return
        buy_xp(game, me)


@compiled
def bot_turn(game: Ints, me: int, skill: int) -> None:
    if game[me + at.ENDED]:
        return
    if game[me + at.OFFERED] != at.NO_OFFER:
        choose(game, me, skill)
    reserve = SKILLS[skill, RESERVE] if game[at.STAGE] < RESERVE_STAGES else 0
    if SKILLS[skill, LEVELS]:
        level_up(game, me, skill, reserve)
    shop(game, me, skill, reserve)
    if SKILLS[skill, COMBINES]:
        while pair(game, me, 0) >= 0:
            combine(game, me, 0)
    if SKILLS[skill, SWAPS]:
        swap_in(game, me)
    end_turn(game, me)
    count_kinds(game, me)
    survey(game, me)
