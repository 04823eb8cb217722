"""The film of a fight: position, life and PP of all creatures at up to `PICTURES` moments.

A film is words: the number of pictures, the time between two, the time of the next, the side from which it is seen,
then a word for every creature of every picture.
"""

from __future__ import annotations

from ..native import compiled
from .bag import line_of, player
from .creatures import HP, PP
from .layout import ALIVE, FILM, FILM_WORDS, PICTURES, SEATS, Ints
from .looks import DARK, ENEMY
from .views import COLUMNS, COUNT, FULL_HP, MAX_PP, NEVER, ROWS, SIDE, SLOTS, SPECIES, X, Y

TAKEN, INTERVAL, DUE, VIEWER, FIRST = range(5)
FIRST_INTERVAL = 250
"""Time between two pictures of a short fight, in ms; it doubles whenever there would be too many."""
BYTE = 8
BYTE_MASK = 255
SHARE = 255

assert FILM_WORDS == FIRST + PICTURES * SLOTS


@compiled
def shown_seat(game: Ints) -> int:
    """Return the seat whose board is drawn: the first that is alive."""
    for seat in range(SEATS):
        if game[player(seat) + ALIVE]:
            return seat
    return 0


@compiled
def square(row: int, column: int) -> int:
    """Return the code of an empty cell: light and dark in turn."""
    return DARK if (row + column) & 1 else 0


@compiled
def load(film: Ints, viewer: int) -> None:
    """Prepare a film of a fight seen from a side; viewer -1 films nothing."""
    film[TAKEN], film[INTERVAL], film[VIEWER] = 0, FIRST_INTERVAL, viewer
    film[DUE] = 0 if viewer >= 0 else NEVER


@compiled
def share_of(value: int, whole: int) -> int:
    """Return a number as a share of `whole`, scaled to `SHARE`."""
    return int(min(SHARE, max(0, SHARE * value // max(1, whole))))


@compiled
def picture_of(arena: Ints, slot: int, viewer: int) -> int:
    """Return a creature in a word: 1 + its cell, its code, its life and its PP, a byte each; 0 if it has fallen."""
    if arena[HP * SLOTS + slot] <= 0:
        return 0
    x, y = arena[X * SLOTS + slot], arena[Y * SLOTS + slot]
    row = ROWS - 1 - y if viewer == 0 else y
    column = x if viewer == 0 else COLUMNS - 1 - x
    code = 1 + line_of(arena[SPECIES * SLOTS + slot]) + (ENEMY if arena[SIDE + slot] != viewer else 0)
    life = max(1, share_of(arena[HP * SLOTS + slot], arena[FULL_HP + slot]))
    power = share_of(arena[PP * SLOTS + slot], 1000 * arena[MAX_PP * SLOTS + slot])
    return int(1 + row * COLUMNS + column + (code << BYTE) + (life << 2 * BYTE) + (power << 3 * BYTE))


@compiled
def thin_out(film: Ints) -> None:
    """Keep every second picture, and double the interval."""
    for picture in range(1, PICTURES // 2):
        for slot in range(SLOTS):
            film[FIRST + picture * SLOTS + slot] = film[FIRST + 2 * picture * SLOTS + slot]
    film[TAKEN] = PICTURES // 2
    film[INTERVAL] *= 2


@compiled
def take_picture(arena: Ints, film: Ints, time: int) -> None:
    """Take a picture; one place is reserved for the last."""
    if film[TAKEN] == PICTURES - 1:
        thin_out(film)
    take_last(arena, film)
    film[DUE] = time + film[INTERVAL]


@compiled
def take_last(arena: Ints, film: Ints) -> None:
    """Take the picture of the end, if the fight is filmed."""
    if film[VIEWER] >= 0:
        start = FIRST + film[TAKEN] * SLOTS
        for slot in range(SLOTS):
            film[start + slot] = picture_of(arena, slot, film[VIEWER]) if slot < arena[COUNT] else 0
        film[TAKEN] += 1


@compiled
def keep_film(game: Ints, film: Ints) -> None:
    """Copy a film into the game's state."""
    for word in range(FIRST + film[TAKEN] * SLOTS):
        game[FILM + word] = film[word]


@compiled
def draw_film(game: Ints, codes: Ints, life: Ints, power: Ints) -> None:
    """Draw the game's film: codes, shares of life and of PP, `(PICTURES * cells,)`; the last one is repeated."""
    taken, cells = game[FILM + TAKEN], ROWS * COLUMNS
    for place in range(PICTURES * cells):
        codes[place] = square(place // COLUMNS, place % COLUMNS)
        life[place] = power[place] = 0
    for picture in range(PICTURES if taken > 0 else 0):
        start = FILM + FIRST + min(picture, taken - 1) * SLOTS
        for slot in range(SLOTS):
            word = game[start + slot]
            if word > 0:
                at = picture * cells + (word & BYTE_MASK) - 1
                codes[at] = word >> BYTE & BYTE_MASK
                life[at] = word >> 2 * BYTE & BYTE_MASK
                power[at] = word >> 3 * BYTE & BYTE_MASK
