"""The pool and the shop: copies leave the pool when offered, and return when not bought or when sold."""

from __future__ import annotations

from ..native import below, compiled
from .bag import NO_CELL, copies_in, free_bench, hand_over, line_of, stars_of
from .creatures import COMMON, ULTRA, UNIQUE
from .layout import CELLS, GOLD, LEVEL, POOL, POOL_LINES, RANDOM, SHOP, SHOP_SLOTS, START_LEVEL, UNIT, Ints
from .tables import COPIES, FIRST_LINE, LINE_COST, LINE_RARITY, SHOP_ODDS

MAX_STARS = 3


@compiled
def fill_pool(game: Ints) -> None:
    """Put all copies into the pool."""
    for line in range(POOL_LINES):
        game[POOL + line] = COPIES[LINE_RARITY[line]]


@compiled
def give_back(game: Ints, species: int) -> None:
    """Return a creature's copies to the pool; unique and legendary ones have none."""
    if species > 0 and line_of(species) < POOL_LINES:
        game[POOL + line_of(species)] += copies_in(species)


@compiled
def draw_of(game: Ints, rarity: int) -> int:
    """Take a uniformly random copy of a rarity out of the pool; return its species, or 0 if there is none."""
    left = 0
    for line in range(FIRST_LINE[rarity], FIRST_LINE[rarity + 1]):
        left += game[POOL + line]
    if left == 0:
        return 0
    ticket = below(game, RANDOM, left)
    line = FIRST_LINE[rarity]
    while ticket >= game[POOL + line]:
        ticket -= game[POOL + line]
        line += 1
    game[POOL + line] -= 1
    return int(1 + 3 * line)


@compiled
def draw_for(game: Ints, level: int) -> int:
    """Take a copy by the odds of a level, of the next lower rarity if one is sold out."""
    ticket = below(game, RANDOM, 100)
    rarity = COMMON
    while rarity < ULTRA and ticket >= SHOP_ODDS[level - START_LEVEL, rarity]:
        ticket -= SHOP_ODDS[level - START_LEVEL, rarity]
        rarity += 1
    found = 0
    while found == 0 and rarity >= COMMON:
        found = draw_of(game, rarity)
        rarity -= 1
    return found


@compiled
def clear_shop(game: Ints, me: int) -> None:
    """Return the offered copies to the pool."""
    for slot in range(SHOP_SLOTS):
        give_back(game, game[me + SHOP + slot])
        game[me + SHOP + slot] = 0


@compiled
def fill_shop(game: Ints, me: int) -> None:
    """Offer six new creatures."""
    clear_shop(game, me)
    for slot in range(SHOP_SLOTS):
        game[me + SHOP + slot] = draw_for(game, game[me + LEVEL])


@compiled
def copy_of(game: Ints, me: int, species: int, start: int) -> int:
    """Return the first cell from `start` down that has a species, or -1; the board comes before the bench."""
    cell = start
    while cell >= 0 and game[me + UNIT + cell] != species:
        cell -= 1
    return cell


@compiled
def grows(game: Ints, me: int, species: int) -> bool:
    """Return whether one more copy would make a creature of more stars."""
    if stars_of(species) == MAX_STARS or line_of(species) >= POOL_LINES:
        return False
    first = copy_of(game, me, species, CELLS - 1)
    return first != NO_CELL and copy_of(game, me, species, first - 1) != NO_CELL


@compiled
def has_room(game: Ints, me: int, species: int) -> bool:
    return free_bench(game, me) != NO_CELL or grows(game, me, species)


@compiled
def receive(game: Ints, me: int, species: int) -> None:
    """Add a creature: to the bench, or merged with two equal ones into one of more stars, repeatedly."""
    cell = NO_CELL
    while grows(game, me, species):
        first = copy_of(game, me, species, CELLS - 1)
        second = copy_of(game, me, species, first - 1)
        hand_over(game, me, second, first)
        game[me + UNIT + second] = 0
        game[me + UNIT + first] = 0
        if cell != NO_CELL:
            hand_over(game, me, cell, first)
        cell = first
        species += 1
    if cell == NO_CELL:
        cell = free_bench(game, me)
    game[me + UNIT + cell] = species


@compiled
def buy(game: Ints, me: int, slot: int) -> None:
    species = game[me + SHOP + slot]
    game[me + SHOP + slot] = 0
    game[me + GOLD] -= LINE_COST[line_of(species)]
    receive(game, me, species)


@compiled
def price(species: int) -> int:
    """Return the gold that a creature sells for."""
    return int(LINE_COST[line_of(species)] * stars_of(species))


@compiled
def sell(game: Ints, me: int, cell: int) -> None:
    """Sell a creature; its items go into the bag."""
    species = game[me + UNIT + cell]
    hand_over(game, me, cell, NO_CELL)
    game[me + UNIT + cell] = 0
    game[me + GOLD] += price(species)
    give_back(game, species)


assert UNIQUE == ULTRA + 1
