"""The mask computed again, slowly: which of the 92 actions a player may take, from the state's words."""

from __future__ import annotations

from itertools import combinations

from pac.envs.autochess import layout as at
from pac.envs.autochess.creatures import COSTS, LINES

from .play import Seat


def legal_actions(seat: Seat) -> set[int]:
    """The legal actions of a seat."""
    if seat[at.ENDED]:
        return {9}
    if seat[at.OFFERED]:
        return _picks(seat) or {9}
    return {9} | _shopping(seat) | _moving(seat) | _combining(seat)


def _cells(seat: Seat) -> list[int]:
    return [seat[at.UNIT + cell] for cell in range(at.CELLS)]


def _bag(seat: Seat) -> list[int]:
    return [seat[at.HELD + place] for place in range(at.BAG) if seat[at.HELD + place]]


def _room(seat: Seat, species: int) -> bool:
    cells = _cells(seat)
    line, stars = divmod(species - 1, 3)
    return 0 in cells[:8] or (cells.count(species) >= 2 and stars < 2 and LINES[line].rarity < 5)


def _picks(seat: Seat) -> set[int]:
    if seat[at.OFFERED] == 2:
        return {80 + k for k in range(6) if seat[at.OFFER_ITEM + k] and len(_bag(seat)) < at.BAG}
    return {80 + k for k in range(6) if seat[at.OFFER_UNIT + k] and _room(seat, seat[at.OFFER_UNIT + k])}


def _shopping(seat: Seat) -> set[int]:
    actions = set()
    for slot in range(6):
        species = seat[at.SHOP + slot]
        if species and seat[at.GOLD] >= COSTS[LINES[(species - 1) // 3].rarity]:
            actions |= {74 + slot} | ({slot} if _room(seat, species) else set())
    if seat[at.GOLD] > 0 or seat[at.FREE_ROLLS]:
        actions.add(6)
    if seat[at.GOLD] >= 4 and seat[at.LEVEL] < 9:
        actions.add(7)
    return actions if seat[at.LOCK_USED] else actions | {8}


def _moving(seat: Seat) -> set[int]:
    cells, room = _cells(seat), at.BAG - len(_bag(seat))
    carried = [bytes(seat[at.GEAR + cell].to_bytes(3, "little")) for cell in range(at.CELLS)]
    actions = {42 + cell for cell in range(at.CELLS) if cells[cell] and 3 - carried[cell].count(0) <= room}
    if seat[at.MOVED] >= 2 or not any(cells):
        return actions
    from_bench, full = any(cells[:8]), sum(map(bool, cells[8:])) >= seat[at.LEVEL]
    targets = range(8) if from_bench and full else range(at.CELLS)
    return actions | {10 + cell for cell in targets if not cells[cell]}


def _combining(seat: Seat) -> set[int]:
    pairs = [pair for pair in combinations(_bag(seat), 2) if max(pair) <= 10]
    return {86 + number for number in range(min(6, len(pairs)))}
