"""The mask told again, slowly: which of the 92 actions a player may take, from the state's words."""

from __future__ import annotations

from itertools import combinations

from pac.envs.autochess.creatures import COSTS, LINES
from pac.envs.autochess.layout import (
    BAG,
    CELLS,
    ENDED,
    FREE_ROLLS,
    GEAR,
    GOLD,
    HELD,
    LEVEL,
    LOCK_USED,
    MOVED,
    OFFER_ITEM,
    OFFER_UNIT,
    OFFERED,
    SHOP,
    UNIT,
)

from .play import Seat


def legal_actions(seat: Seat) -> set[int]:
    """The legal actions of a seat."""
    if seat[ENDED]:
        return {9}
    if seat[OFFERED]:
        return _picks(seat) or {9}
    return {9} | _shopping(seat) | _moving(seat) | _combining(seat)


def _cells(seat: Seat) -> list[int]:
    return [seat[UNIT + cell] for cell in range(CELLS)]


def _bag(seat: Seat) -> list[int]:
    return [seat[HELD + place] for place in range(BAG) if seat[HELD + place]]


def _room(seat: Seat, species: int) -> bool:
    cells = _cells(seat)
    line, stars = divmod(species - 1, 3)
    return 0 in cells[:8] or (cells.count(species) >= 2 and stars < 2 and LINES[line].rarity < 5)


def _picks(seat: Seat) -> set[int]:
    if seat[OFFERED] == 2:
        return {80 + k for k in range(6) if seat[OFFER_ITEM + k] and len(_bag(seat)) < BAG}
    return {80 + k for k in range(6) if seat[OFFER_UNIT + k] and _room(seat, seat[OFFER_UNIT + k])}


def _shopping(seat: Seat) -> set[int]:
    actions = set()
    for slot in range(6):
        species = seat[SHOP + slot]
        if species and seat[GOLD] >= COSTS[LINES[(species - 1) // 3].rarity]:
            actions |= {74 + slot} | ({slot} if _room(seat, species) else set())
    if seat[GOLD] > 0 or seat[FREE_ROLLS]:
        actions.add(6)
    if seat[GOLD] >= 4 and seat[LEVEL] < 9:
        actions.add(7)
    return actions if seat[LOCK_USED] else actions | {8}


def _moving(seat: Seat) -> set[int]:
    cells, room = _cells(seat), BAG - len(_bag(seat))
    carried = [bytes(seat[GEAR + cell].to_bytes(3, "little")) for cell in range(CELLS)]
    actions = {42 + cell for cell in range(CELLS) if cells[cell] and 3 - carried[cell].count(0) <= room}
    if seat[MOVED] >= 2 or not any(cells):
        return actions
    from_bench, full = any(cells[:8]), sum(map(bool, cells[8:])) >= seat[LEVEL]
    targets = range(8) if from_bench and full else range(CELLS)
    return actions | {10 + cell for cell in targets if not cells[cell]}


def _combining(seat: Seat) -> set[int]:
    pairs = [pair for pair in combinations(_bag(seat), 2) if max(pair) <= 10]
    return {86 + number for number in range(min(6, len(pairs)))}
