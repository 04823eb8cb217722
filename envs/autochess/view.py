"""Writes the observations of seats and the boards."""

from __future__ import annotations

import numpy as np

from ..native import compiled
from . import layout as at
from .bag import board_size, gear_at, gear_count, line_of, player, stars_of
from .creatures import ATTACK, HP, RANGE
from .display import shown_seat, square
from .layout import Floats, Ints
from .looks import BENCH_PLACE
from .market import grows
from .rounds import interest
from .tables import (
    ITEM_GAINS,
    LINE_COST,
    LINE_RARITY,
    LINE_TYPES,
    RARITY_SCALE,
    SPECIES,
    TYPES,
    UNIT_STATS,
    WILD_TEAMS,
    XP_NEEDED,
)

AT_SHOP = 14
SHOP_FLOATS = 9
AT_CELLS = AT_SHOP + at.SHOP_SLOTS * SHOP_FLOATS
CELL_FLOATS = 12
AT_BAG = AT_CELLS + at.CELLS * CELL_FLOATS
AT_KINDS = AT_BAG + at.BAG
AT_GAME = AT_KINDS + at.KIND_SLOTS
AT_RIVALS = AT_GAME + 7
RIVAL_FLOATS = 10
AT_OFFERS = AT_RIVALS + (at.SEATS - 1) * RIVAL_FLOATS
OFFER_FLOATS = 7
MAX_STREAK = 10
MAX_XP_NEEDED = int(XP_NEEDED.max())
TYPE_SCALE = np.float32(1 / 31)
ITEM_SCALE = np.float32(1 / 65)
SPECIES_SCALE = np.float32(1 / SPECIES)
WEATHER_SCALE = np.float32(1 / 4)


@compiled
def share(value: int, most: int) -> np.float32:
    """Return a number as a share of `most`, clipped to 0 to 1."""
    return np.float32(min(1.0, max(0.0, value / most)))


@compiled
def signed(streak: int) -> np.float32:
    """Encode a streak: 0 is 10 defeats, 0.5 is no streak, 1 is 10 victories."""
    return share(streak + MAX_STREAK, 2 * MAX_STREAK)


@compiled
def write_types(line: int, out: Floats, start: int) -> None:
    """Write the four kinds of a line, 1 + the kind over 31, 0 for none."""
    for place in range(TYPES):
        out[start + place] = (LINE_TYPES[line, place] + 1) * TYPE_SCALE


@compiled
def write_player(game: Ints, me: int, out: Floats) -> None:
    """Write the 14 numbers of a player."""
    level = game[me + at.LEVEL]
    out[0] = share(game[me + at.LIFE], 100)
    out[1] = share(game[me + at.GOLD], 100)
    out[2] = share(level, 9)
    out[3] = signed(game[me + at.STREAK])
    out[4] = share(interest(game, me), 5)
    out[5] = game[me + at.ALIVE]
    out[6] = share(game[me + at.RANK], 8)
    out[7] = share(board_size(game, me), 9)
    out[8] = share(XP_NEEDED[level] - game[me + at.XP], MAX_XP_NEEDED)
    out[9] = share(game[me + at.FREE_ROLLS], 3)
    out[10] = share(game[me + at.REROLLS], 20)
    out[11] = game[me + at.LOCKED]
    out[12] = share(game[me + at.EARNED], 200)
    out[13] = share(game[me + at.DAMAGE], 100)


@compiled
def write_shop(game: Ints, me: int, out: Floats) -> None:
    """Write 9 numbers for each slot of the shop."""
    for slot in range(at.SHOP_SLOTS):
        species = game[me + at.SHOP + slot]
        if species > 0:
            start, line = AT_SHOP + slot * SHOP_FLOATS, line_of(species)
            out[start] = 1
            out[start + 1] = species * SPECIES_SCALE
            out[start + 2] = RARITY_SCALE[LINE_RARITY[line]]
            out[start + 3] = share(LINE_COST[line], 10)
            write_types(line, out, start + 4)
            out[start + 8] = grows(game, me, species)


@compiled
def stat_of(game: Ints, me: int, cell: int, stat: int) -> int:
    """Return a stat of a creature with the gains of its items."""
    value = UNIT_STATS[game[me + at.UNIT + cell], stat]
    for place in range(gear_count(game, me, cell)):
        value += ITEM_GAINS[gear_at(game, me, cell, place), stat]
    return int(value)


@compiled
def write_cells(game: Ints, me: int, out: Floats) -> None:
    """Write 12 numbers for each cell."""
    for cell in range(at.CELLS):
        species = game[me + at.UNIT + cell]
        if species > 0:
            start, line = AT_CELLS + cell * CELL_FLOATS, line_of(species)
            out[start] = 1
            out[start + 1] = species * SPECIES_SCALE
            out[start + 2] = share(stars_of(species), 3)
            out[start + 3] = RARITY_SCALE[LINE_RARITY[line]]
            write_types(line, out, start + 4)
            out[start + 8] = share(stat_of(game, me, cell, ATTACK), 50)
            out[start + 9] = share(stat_of(game, me, cell, HP), 500)
            out[start + 10] = share(UNIT_STATS[species, RANGE], 4)
            out[start + 11] = share(gear_count(game, me, cell), 3)


@compiled
def write_bag(game: Ints, me: int, out: Floats) -> None:
    """Write the items in the bag and how many lines of each kind are on the board."""
    for place in range(at.BAG):
        if game[me + at.HELD + place] == 0:
            break
        out[AT_BAG + place] = game[me + at.HELD + place] * ITEM_SCALE
    for kind in range(at.KIND_SLOTS):
        out[AT_KINDS + kind] = share(game[me + at.KIND + kind], 10)


@compiled
def write_game(game: Ints, me: int, turn_actions: int, out: Floats) -> None:
    """Write the 7 numbers of the game."""
    out[AT_GAME] = share(game[at.STAGE], 50)
    out[AT_GAME + 1] = share(game[me + at.ACTED], turn_actions)
    out[AT_GAME + 2] = share(game[at.LIVING], at.SEATS)
    out[AT_GAME + 3] = game[me + at.OFFERED] != at.NO_OFFER
    out[AT_GAME + 4] = game[at.WEATHER] * WEATHER_SCALE
    out[AT_GAME + 5] = WILD_TEAMS[game[at.STAGE], 0] > 0
    out[AT_GAME + 6] = share(game[me + at.LEVEL], 9)


@compiled
def write_rival(game: Ints, them: int, out: Floats, start: int) -> None:
    """Write 10 numbers of another player."""
    out[start] = share(game[them + at.LIFE], 100)
    out[start + 1] = share(game[them + at.RANK], 8)
    out[start + 2] = share(game[them + at.LEVEL], 9)
    out[start + 3] = share(game[them + at.GOLD], 100)
    out[start + 4] = signed(game[them + at.STREAK])
    out[start + 5] = share(board_size(game, them), 9)
    for place in range(2):
        kind, count = game[them + at.TOP_KINDS + 2 * place], game[them + at.TOP_KINDS + 2 * place + 1]
        out[start + 6 + 2 * place] = (kind + 1) * TYPE_SCALE
        out[start + 7 + 2 * place] = share(count, 10)


@compiled
def write_offers(game: Ints, me: int, out: Floats) -> None:
    """Write 7 numbers for each offer."""
    for offer in range(at.OFFERS):
        start, species = AT_OFFERS + offer * OFFER_FLOATS, game[me + at.OFFER_UNIT + offer]
        if species > 0:
            out[start] = species * SPECIES_SCALE
            out[start + 1] = RARITY_SCALE[LINE_RARITY[line_of(species)]]
            write_types(line_of(species), out, start + 2)
        out[start + 6] = game[me + at.OFFER_ITEM + offer] * ITEM_SCALE


@compiled
def observe(game: Ints, seat: int, turn_actions: int, out: Floats) -> None:
    """Write a seat's observation, 612 numbers from 0 to 1; rivals follow the seat in turn.

    Args:
        game: The state.
        turn_actions: Actions after which a turn ends.
    """
    out[:] = 0
    me = player(seat)
    write_player(game, me, out)
    write_shop(game, me, out)
    write_cells(game, me, out)
    write_bag(game, me, out)
    write_game(game, me, turn_actions, out)
    for step in range(1, at.SEATS):
        write_rival(game, player((seat + step) % at.SEATS), out, AT_RIVALS + (step - 1) * RIVAL_FLOATS)
    if game[me + at.OFFERED] != at.NO_OFFER:
        write_offers(game, me, out)


@compiled
def draw(game: Ints, cells: Ints, stars: Ints, gear: Ints, offers: Ints) -> None:
    """Draw a seat's cells, the board on top and the bench below, stars and number of items of each, and its shop."""
    me = player(shown_seat(game))
    for cell in range(at.CELLS):
        row, column, species = 3 - (cell >> 3), cell & 7, game[me + at.UNIT + cell]
        start = row * 8 + column
        cells[start] = 1 + line_of(species) if species > 0 else BENCH_PLACE if cell < at.BENCH else square(row, column)
        stars[start] = stars_of(species) if species > 0 else 0
        gear[start] = gear_count(game, me, cell)
    for slot in range(at.SHOP_SLOTS):
        species = game[me + at.SHOP + slot]
        offers[slot] = 1 + line_of(species) if species > 0 else 0


@compiled
def draw_numbers(game: Ints, kinds: Ints, seats: Ints) -> None:
    """Write the numbers beside the board: lines of each kind; everybody's life and rank, `(SEATS, 2)`."""
    me = player(shown_seat(game))
    for kind in range(kinds.shape[0]):
        kinds[kind] = game[me + at.KIND + kind]
    for seat in range(at.SEATS):
        them = player(seat)
        seats[seat, 0], seats[seat, 1] = game[them + at.LIFE], game[them + at.RANK]
