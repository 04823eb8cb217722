"""Makes a fighting team from a player's board: the kinds that reach a threshold, and what creatures gain by them."""

from __future__ import annotations

from ..native import compiled
from .bag import gear_at, gear_count, line_of
from .creatures import KINDS, POWER, STATS, WEATHER_POWER, WEATHERS
from .layout import BENCH, CELLS, GEAR_SLOTS, KIND, NOBODY, TIERS, TOP_KINDS, UNIT, Ints
from .tables import ABILITY_POWER as POWER_OF
from .tables import (
    ITEM_GAINS,
    ITEM_KIND,
    KIND_AT,
    KIND_GAIN,
    KIND_STAT,
    KIND_TEAM,
    LINE_ABILITY,
    LINE_MAX_PP,
    LINE_RANGE,
    LINE_TYPES,
    TIERS_OF_KIND,
    TYPES,
    UNIT_STATS,
    WILD_TEAMS,
)
from .views import ABILITY, ABILITY_POWER, MAX_PP, SIDE_SIZE, SPECIES, TEAM_WORDS, X, Y

KIND_COUNT = len(KINDS)


@compiled
def tier(kind: int, count: int) -> int:
    """Return how many thresholds of a kind a count reaches."""
    reached = 0
    while reached < TIERS_OF_KIND and count >= KIND_AT[kind, reached]:
        reached += 1
    return reached


@compiled
def is_double(game: Ints, me: int, cell: int) -> bool:
    """Return whether an earlier cell of the board has the same line."""
    line = line_of(game[me + UNIT + cell])
    found = False
    for other in range(BENCH, cell):
        found = found or (game[me + UNIT + other] > 0 and line_of(game[me + UNIT + other]) == line)
    return found


@compiled
def count_kinds(game: Ints, me: int) -> None:
    """Count the lines of each kind on the board, the tiers they reach, and the two most frequent kinds."""
    for kind in range(KIND_COUNT):
        game[me + KIND + kind] = 0
    for cell in range(BENCH, CELLS):
        unit = game[me + UNIT + cell]
        if unit > 0:
            if not is_double(game, me, cell):
                for place in range(TYPES):
                    kind = LINE_TYPES[line_of(unit), place]
                    if kind != NOBODY:
                        game[me + KIND + kind] += 1
            for place in range(gear_count(game, me, cell)):
                kind = ITEM_KIND[gear_at(game, me, cell, place)]
                if kind != NOBODY:
                    game[me + KIND + kind] += 1
    rank_kinds(game, me)


@compiled
def rank_kinds(game: Ints, me: int) -> None:
    """Write the sum of tiers and the two most frequent kinds, `TOP_KINDS`: kind and count, twice."""
    tiers, first, second = 0, NOBODY, NOBODY
    for kind in range(KIND_COUNT):
        count = game[me + KIND + kind]
        tiers += tier(kind, count)
        if count > 0 and (first == NOBODY or count > game[me + KIND + first]):
            first, second = kind, first
        elif count > 0 and (second == NOBODY or count > game[me + KIND + second]):
            second = kind
    game[me + TIERS] = tiers
    game[me + TOP_KINDS] = first
    game[me + TOP_KINDS + 1] = game[me + KIND + first] if first != NOBODY else 0
    game[me + TOP_KINDS + 2] = second
    game[me + TOP_KINDS + 3] = game[me + KIND + second] if second != NOBODY else 0


@compiled
def write_row(team: Ints, index: int, species: int, x: int, y: int) -> int:
    """Write a creature's own stats; return the first word of its row."""
    row, line = index * TEAM_WORDS, line_of(species)
    for stat in range(STATS):
        team[row + stat] = UNIT_STATS[species, stat]
    team[row + SPECIES] = species
    team[row + X] = x
    team[row + Y] = y
    team[row + MAX_PP] = LINE_MAX_PP[line]
    team[row + ABILITY] = LINE_ABILITY[line]
    team[row + ABILITY_POWER] = POWER_OF[species]
    return row


@compiled
def add_items(game: Ints, me: int, cell: int, team: Ints, row: int) -> None:
    """Add the gains of a creature's items."""
    for place in range(GEAR_SLOTS):
        item = gear_at(game, me, cell, place)
        if item != NOBODY:
            for stat in range(STATS):
                team[row + stat] += ITEM_GAINS[item, stat]


@compiled
def holds(game: Ints, me: int, cell: int, kind: int) -> bool:
    """Return whether a creature is of a kind, by its line or by an item."""
    line = line_of(game[me + UNIT + cell])
    found = False
    for place in range(TYPES):
        found = found or LINE_TYPES[line, place] == kind
    for place in range(gear_count(game, me, cell)):
        found = found or ITEM_KIND[gear_at(game, me, cell, place)] == kind
    return found


@compiled
def add_kind(game: Ints, me: int, kind: int, team: Ints, cells: Ints, size: int) -> None:
    """Add the gains of a kind's tier, to its holders or to the whole team."""
    reached = tier(kind, game[me + KIND + kind])
    if reached == 0:
        return
    for index in range(size):
        if KIND_TEAM[kind] or holds(game, me, cells[index], kind):
            team[index * TEAM_WORDS + KIND_STAT[kind]] += KIND_GAIN[kind, reached]


@compiled
def add_weather(game: Ints, me: int, kind: int, team: Ints, cells: Ints, size: int) -> None:
    """Add the gains of the weather to creatures of its kind."""
    for index in range(size):
        if holds(game, me, cells[index], kind):
            team[index * TEAM_WORDS + POWER] += WEATHER_POWER


@compiled
def muster(game: Ints, me: int, weather: int, team: Ints, cells: Ints) -> int:
    """Write the board as rows of a team; return how many.

    Args:
        me: The player.
        weather: 0, or 1 + its place in `WEATHERS`.
        team: The rows, flat.
        cells: `(9,)`, the cell of each row, working memory.
    """
    size = 0
    for cell in range(BENCH, CELLS):
        if game[me + UNIT + cell] > 0 and size < SIDE_SIZE:
            row = write_row(team, size, game[me + UNIT + cell], cell & 7, (cell >> 3) - 1)
            add_items(game, me, cell, team, row)
            cells[size] = cell
            size += 1
    for kind in range(KIND_COUNT):
        if game[me + KIND + kind] > 0:
            add_kind(game, me, kind, team, cells, size)
    if weather > 0:
        add_weather(game, me, WEATHERS[weather - 1], team, cells, size)
    return size


@compiled
def muster_wild(stage: int, team: Ints) -> int:
    """Write a stage's wild creatures as rows of a team; return how many."""
    size = 0
    while size < SIDE_SIZE and WILD_TEAMS[stage, size] > 0:
        species = WILD_TEAMS[stage, size]
        reach = LINE_RANGE[line_of(species)]
        write_row(team, size, species, (3 + 3 * size) & 7, 2 if reach == 1 else 0)
        size += 1
    return size
