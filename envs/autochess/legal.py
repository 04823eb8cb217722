"""Which actions are legal: one bit each, in a player's mask."""

from __future__ import annotations

from ..native import compiled
from . import layout as at
from .bag import NO_CELL, gear_count, held_count, line_of, team_room
from .layout import Ints
from .market import has_room
from .tables import COMPONENT_COUNT, LINE_COST

ALL_CELLS = (1 << at.CELLS) - 1
BENCH_CELLS = (1 << at.BENCH) - 1
WORD = 32


@compiled
def allow(game: Ints, me: int, first: int, bits: int) -> None:
    """Allow the actions `first + k` for the bits k that are set, up to 32 of them."""
    word, offset = me + at.MASK + first // WORD, first % WORD
    game[word] |= (bits << offset) & ALL_CELLS
    if offset > 0 and bits >> (WORD - offset):
        game[word + 1] |= bits >> (WORD - offset)


@compiled
def is_legal(game: Ints, me: int, action: int) -> bool:
    """Return whether the player's mask allows an action; false if it is out of range."""
    if action < 0 or action >= at.ACTIONS:
        return False
    return bool(game[me + at.MASK + action // WORD] >> (action % WORD) & 1)


@compiled
def occupied(game: Ints, me: int) -> int:
    """Return the cells that have a creature, as bits."""
    cells = 0
    for cell in range(at.CELLS):
        if game[me + at.UNIT + cell] > 0:
            cells |= 1 << cell
    return cells


@compiled
def mover(game: Ints, me: int) -> int:
    """Return the cell of the creature that moves: the first of the bench, else the first of the board, else -1."""
    for cell in range(at.CELLS):
        if game[me + at.UNIT + cell] > 0:
            return cell
    return NO_CELL


@compiled
def allow_cells(game: Ints, me: int) -> None:
    """Allow moves to free cells, bench to board only below the team size, and sales."""
    taken = occupied(game, me)
    room = at.BAG - held_count(game, me)
    for cell in range(at.CELLS):
        if taken >> cell & 1 and gear_count(game, me, cell) <= room:
            allow(game, me, at.SELL + cell, 1)
    source = mover(game, me)
    if source != NO_CELL and game[me + at.MOVED] < at.MOVES_IN_ROW:
        free = ~taken & ALL_CELLS
        if source < at.BENCH and team_room(game, me) <= 0:
            free &= BENCH_CELLS
        allow(game, me, at.MOVE, free)


@compiled
def allow_shop(game: Ints, me: int) -> None:
    """Allow what the player can pay."""
    gold = game[me + at.GOLD]
    for slot in range(at.SHOP_SLOTS):
        species = game[me + at.SHOP + slot]
        if species > 0 and gold >= LINE_COST[line_of(species)]:
            allow(game, me, at.REMOVE + slot, 1)
            if has_room(game, me, species):
                allow(game, me, at.BUY + slot, 1)
    if gold >= 1 or game[me + at.FREE_ROLLS] > 0:
        allow(game, me, at.REFRESH, 1)
    if gold >= at.XP_COST and game[me + at.LEVEL] < at.MAX_LEVEL:
        allow(game, me, at.BUY_XP, 1)
    if game[me + at.LOCK_USED] == 0:
        allow(game, me, at.LOCK, 1)


@compiled
def pair(game: Ints, me: int, number: int) -> int:
    """Return the bag's places of the n-th pair of components, 16 * first + second; -1 if there are fewer."""
    count = held_count(game, me)
    for first in range(count):
        for second in range(first + 1, count):
            if game[me + at.HELD + first] <= COMPONENT_COUNT and game[me + at.HELD + second] <= COMPONENT_COUNT:
                if number == 0:
                    return 16 * first + second
                number -= 1
    return -1


@compiled
def pick_legal(game: Ints, me: int, offer: int) -> bool:
    if game[me + at.OFFERED] == at.ITEMS_OFFERED:
        return bool(game[me + at.OFFER_ITEM + offer] > 0 and held_count(game, me) < at.BAG)
    species = game[me + at.OFFER_UNIT + offer]
    return bool(species > 0 and has_room(game, me, species))


@compiled
def survey(game: Ints, me: int) -> None:
    """Write the mask: with offers pending only picks, after the turn only END_TURN."""
    for word in range(at.MASK_WORDS):
        game[me + at.MASK + word] = 0
    if game[me + at.ENDED]:
        allow(game, me, at.END_TURN, 1)
        return
    if game[me + at.OFFERED] != at.NO_OFFER:
        picks = 0
        for offer in range(at.OFFERS):
            if pick_legal(game, me, offer):
                picks |= 1 << offer
        allow(game, me, at.PICK, picks)
        if picks == 0:
            allow(game, me, at.END_TURN, 1)
        return
    allow(game, me, at.END_TURN, 1)
    allow_shop(game, me)
    allow_cells(game, me)
    for number in range(6):
        if pair(game, me, number) < 0:
            break
        allow(game, me, at.COMBINE + number, 1)
