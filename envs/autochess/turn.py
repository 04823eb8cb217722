"""A player's turn: the effect of each action, and of the end of the turn."""

from __future__ import annotations

from ..native import below, compiled
from . import layout as at
from .bag import NO_CELL, equip, gear_count, held_count, keep, line_of, shift, take_out, team_room, worth
from .layout import Ints
from .legal import mover, pair, survey
from .market import buy, fill_shop, give_back, receive, sell
from .tables import COMPONENT_COUNT, CRAFTED, LINE_RANGE, XP_NEEDED
from .teams import count_kinds

PLACES = (3, 4, 2, 5, 1, 6, 0, 7)
"""Columns from the middle outwards."""
FRONT, BACK = 3, 1


@compiled
def add_xp(game: Ints, me: int, amount: int) -> None:
    """Add experience, and the levels it reaches."""
    if game[me + at.LEVEL] < at.MAX_LEVEL:
        game[me + at.XP] += amount
    while game[me + at.LEVEL] < at.MAX_LEVEL and game[me + at.XP] >= XP_NEEDED[game[me + at.LEVEL]]:
        game[me + at.XP] -= XP_NEEDED[game[me + at.LEVEL]]
        game[me + at.LEVEL] += 1
    if game[me + at.LEVEL] == at.MAX_LEVEL:
        game[me + at.XP] = 0


@compiled
def refresh(game: Ints, me: int) -> None:
    """Pay for six new creatures, if no roll is free."""
    if game[me + at.FREE_ROLLS] > 0:
        game[me + at.FREE_ROLLS] -= 1
    else:
        game[me + at.GOLD] -= 1
    game[me + at.REROLLS] += 1
    fill_shop(game, me)


@compiled
def buy_xp(game: Ints, me: int) -> None:
    """Pay 4 gold for 4 experience."""
    game[me + at.GOLD] -= at.XP_COST
    add_xp(game, me, at.XP_GAIN)


@compiled
def remove_offer(game: Ints, me: int, slot: int) -> None:
    """Take a creature out of the shop, which stays as it is for the next round."""
    give_back(game, game[me + at.SHOP + slot])
    game[me + at.SHOP + slot] = 0
    game[me + at.LOCKED] = 1


@compiled
def drop_offers(game: Ints, me: int) -> None:
    for offer in range(at.OFFERS):
        give_back(game, game[me + at.OFFER_UNIT + offer])
        game[me + at.OFFER_UNIT + offer] = game[me + at.OFFER_ITEM + offer] = 0
    game[me + at.OFFERED] = at.NO_OFFER


@compiled
def pick(game: Ints, me: int, offer: int) -> None:
    """Take one of the offers: the creature, the item, or both."""
    species, item = game[me + at.OFFER_UNIT + offer], game[me + at.OFFER_ITEM + offer]
    if game[me + at.OFFERED] == at.CREATURES_OFFERED:
        game[me + at.OFFER_UNIT + offer] = 0
        receive(game, me, species)
    if item > 0:
        keep(game, me, item - 1)
    drop_offers(game, me)


@compiled
def combine(game: Ints, me: int, number: int) -> None:
    """Combine a pair of components into an item."""
    places = pair(game, me, number)
    second = take_out(game, me, places & 15)
    first = take_out(game, me, places >> 4)
    keep(game, me, CRAFTED[first, second])


@compiled
def apply(game: Ints, me: int, action: int) -> None:
    """Do a legal action that is not END_TURN."""
    game[me + at.MOVED] = game[me + at.MOVED] + 1 if at.MOVE <= action < at.SELL else 0
    if action < at.REFRESH:
        buy(game, me, action - at.BUY)
    elif action == at.REFRESH:
        refresh(game, me)
    elif action == at.BUY_XP:
        buy_xp(game, me)
    elif action == at.LOCK:
        game[me + at.LOCKED] = 1 - game[me + at.LOCKED]
        game[me + at.LOCK_USED] = 1
    elif at.MOVE <= action < at.SELL:
        shift(game, me, mover(game, me), action - at.MOVE)
    elif action < at.REMOVE:
        sell(game, me, action - at.SELL)
    elif action < at.PICK:
        remove_offer(game, me, action - at.REMOVE)
    elif action < at.COMBINE:
        pick(game, me, action - at.PICK)
    else:
        combine(game, me, action - at.COMBINE)


@compiled
def take(game: Ints, me: int, action: int, turn_actions: int) -> None:
    """Play a legal action; the turn ends with END_TURN or after `turn_actions` actions."""
    game[me + at.ACTED] += 1
    if action != at.END_TURN:
        apply(game, me, action)
    if action == at.END_TURN or game[me + at.ACTED] >= turn_actions:
        end_turn(game, me)
    count_kinds(game, me)
    survey(game, me)


@compiled
def place_for(game: Ints, me: int, species: int) -> int:
    """Return a free cell from the middle outwards, in front for melee, in the back for ranged creatures."""
    front = LINE_RANGE[line_of(species)] == 1
    for row in range(3):
        y = FRONT - row if front else BACK + row
        for column in range(8):
            cell = 8 * y + PLACES[column]
            if game[me + at.UNIT + cell] == 0:
                return cell
    return NO_CELL


@compiled
def deploy(game: Ints, me: int) -> None:
    """Move creatures from the bench to the board while the team has room, the most valuable first."""
    while team_room(game, me) > 0:
        best = NO_CELL
        for cell in range(at.BENCH):
            unit = game[me + at.UNIT + cell]
            if unit > 0 and (best == NO_CELL or worth(unit) > worth(game[me + at.UNIT + best])):
                best = cell
        if best == NO_CELL:
            return
        shift(game, me, best, place_for(game, me, game[me + at.UNIT + best]))


@compiled
def hand_out(game: Ints, me: int) -> None:
    """Give each combined item to the most valuable creature of the board that can carry it."""
    place = 0
    while place < held_count(game, me):
        best = NO_CELL
        if game[me + at.HELD + place] > COMPONENT_COUNT:
            for cell in range(at.BENCH, at.CELLS):
                unit = game[me + at.UNIT + cell]
                if (
                    unit > 0
                    and gear_count(game, me, cell) < 3
                    and (best == NO_CELL or worth(unit) > worth(game[me + at.UNIT + best]))
                ):
                    best = cell
        if best == NO_CELL:
            place += 1
        else:
            equip(game, me, best, take_out(game, me, place))


@compiled
def end_turn(game: Ints, me: int) -> None:
    """End the turn: remove offers, fill the team from the bench, and give items to creatures."""
    drop_offers(game, me)
    deploy(game, me)
    hand_out(game, me)
    game[me + at.ENDED] = 1


@compiled
def offer_items(game: Ints, me: int, count: int) -> None:
    """Offer components to pick one of."""
    game[me + at.OFFERED] = at.ITEMS_OFFERED
    for offer in range(count):
        game[me + at.OFFER_ITEM + offer] = 1 + below(game, at.RANDOM, COMPONENT_COUNT)
