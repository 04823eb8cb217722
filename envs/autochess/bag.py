"""A player's possessions: cells with creatures and their items, and a bag of items."""

from __future__ import annotations

from ..native import compiled
from .layout import BAG, BENCH, CELLS, GEAR, GEAR_SLOTS, HELD, LEVEL, PLAYER_WORDS, PLAYERS, UNIT, Ints
from .tables import LINE_COST

GEAR_BITS = 8
GEAR_MASK = 255
NO_CELL = -1


@compiled
def player(seat: int) -> int:
    """Return the first word of a player."""
    return PLAYERS + seat * PLAYER_WORDS


@compiled
def line_of(species: int) -> int:
    return (species - 1) // 3


@compiled
def stars_of(species: int) -> int:
    return (species - 1) % 3 + 1


@compiled
def copies_in(species: int) -> int:
    stars = stars_of(species)
    return 1 if stars == 1 else 3 if stars == 2 else 9


@compiled
def worth(species: int) -> int:
    """Return the approximate value of a creature: its cost, times 3 per star."""
    return int((LINE_COST[line_of(species)] + 1) * copies_in(species))


@compiled
def gear_at(game: Ints, me: int, cell: int, place: int) -> int:
    """Return the item in one of a creature's three places, or -1."""
    return int((game[me + GEAR + cell] >> (GEAR_BITS * place)) & GEAR_MASK) - 1


@compiled
def gear_count(game: Ints, me: int, cell: int) -> int:
    """Return how many items a creature carries."""
    gear = game[me + GEAR + cell]
    return int(gear > 0) + int(gear > GEAR_MASK) + int(gear >> (2 * GEAR_BITS) > 0)


@compiled
def equip(game: Ints, me: int, cell: int, item: int) -> bool:
    """Give a creature an item, if it can carry one more."""
    count = gear_count(game, me, cell)
    if count == GEAR_SLOTS:
        return False
    game[me + GEAR + cell] |= (item + 1) << (GEAR_BITS * count)
    return True


@compiled
def held_count(game: Ints, me: int) -> int:
    """Return the number of items in the bag; free places come last."""
    count = 0
    while count < BAG and game[me + HELD + count] > 0:
        count += 1
    return count


@compiled
def keep(game: Ints, me: int, item: int) -> bool:
    """Put an item into the bag, if there is room."""
    count = held_count(game, me)
    if count == BAG:
        return False
    game[me + HELD + count] = item + 1
    return True


@compiled
def take_out(game: Ints, me: int, place: int) -> int:
    """Take an item out of the bag; the items after it move up."""
    item = game[me + HELD + place] - 1
    for behind in range(place, BAG - 1):
        game[me + HELD + behind] = game[me + HELD + behind + 1]
    game[me + HELD + BAG - 1] = 0
    return int(item)


@compiled
def hand_over(game: Ints, me: int, source: int, target: int) -> None:
    """Move a creature's items to another one, or else to the bag; items for which the bag has no room are lost."""
    for place in range(gear_count(game, me, source)):
        item = gear_at(game, me, source, place)
        if target == NO_CELL or not equip(game, me, target, item):
            keep(game, me, item)
    game[me + GEAR + source] = 0


@compiled
def shift(game: Ints, me: int, source: int, target: int) -> None:
    """Exchange the contents of two cells."""
    unit, gear = game[me + UNIT + source], game[me + GEAR + source]
    game[me + UNIT + source], game[me + GEAR + source] = game[me + UNIT + target], game[me + GEAR + target]
    game[me + UNIT + target], game[me + GEAR + target] = unit, gear


@compiled
def count_units(game: Ints, me: int, first: int, last: int) -> int:
    count = 0
    for cell in range(first, last):
        count += game[me + UNIT + cell] > 0
    return count


@compiled
def board_size(game: Ints, me: int) -> int:
    return count_units(game, me, BENCH, CELLS)


@compiled
def free_bench(game: Ints, me: int) -> int:
    """Return the first free place of the bench, or -1."""
    for cell in range(BENCH):
        if game[me + UNIT + cell] == 0:
            return cell
    return NO_CELL


@compiled
def team_room(game: Ints, me: int) -> int:
    """Return how many more creatures the board can hold."""
    return int(game[me + LEVEL]) - board_size(game, me)
