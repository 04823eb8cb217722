"""The rules of a step.

An episode has stages. In each of them the agent steers a shape, one step up, right, down or left, until the picture is
nearly the stage's goal picture, in which the shape has its place. Then the shape stays, and the next one begins at a
random place. Squares drift through the picture in straight lines, and turn around at its edges. They are in no goal
picture, so the distance is rarely 0.

The distance of two pictures is the sum of the differences of their pixels' shades.
"""

from __future__ import annotations

import numpy as np

from ..native import below, compiled, inlined
from ..packed_kernels import packed_distance
from . import layout as at
from .layout import Bytes, Ints
from .views import FrameScene

UP_DOWN = np.array([-1, 0, 1, 0, 0])
LEFT_RIGHT = np.array([0, 1, 0, -1, 0])
SPEEDS = np.array(at.SPEEDS)
ALL_BITS = np.uint8(3)


@compiled
def begin(s: FrameScene, seed: np.uint64, picture: Bytes) -> None:
    """Begin an episode, and draw its picture."""
    game = s.game
    game[at.RANDOM] = np.int64(seed)
    for word in range(at.STEPS, game.shape[0]):
        game[word] = 0
    for drifter in range(s.n.drifters):
        me = at.DRIFTERS + drifter * at.DRIFTER_WORDS
        game[me + at.DRIFTER_ROW] = below(game, at.RANDOM, at.HEIGHT - at.DRIFTER + 1)
        game[me + at.DRIFTER_COLUMN] = below(game, at.RANDOM, at.WIDTH - at.DRIFTER + 1)
        game[me + at.DOWN] = SPEEDS[below(game, at.RANDOM, len(SPEEDS))]
        game[me + at.RIGHT] = SPEEDS[below(game, at.RANDOM, len(SPEEDS))]
    begin_stage(s, picture)


@compiled
def begin_stage(s: FrameScene, picture: Bytes) -> None:
    """Put the stage's shape at a random place that is not near its goal, and draw the picture."""
    game = s.game
    row, column = s.goals[game[at.STAGE], 0], s.goals[game[at.STAGE], 1]
    place = below(game, at.RANDOM, at.ROWS * at.COLUMNS)
    while abs(place // at.COLUMNS - row) + abs(place % at.COLUMNS - column) < at.NEAREST:
        place = (place + 1) % (at.ROWS * at.COLUMNS)
    game[at.ROW], game[at.COLUMN] = place // at.COLUMNS, place % at.COLUMNS
    draw_picture(s, picture)
    game[at.FIRST] = game[at.DISTANCE] = distance_to_goal(s, picture)


@inlined
def distance_to_goal(s: FrameScene, picture: Bytes) -> int:
    """Return the distance of a picture to the goal picture of the stage."""
    return packed_distance(s.distances, picture, s.pictures[s.game[at.STAGE] + 1])


@inlined
def moved(place: int, by: int, places: int) -> int:
    """Return the place after a step, which does not lead out of `0..places - 1`."""
    return min(max(place + by, 0), places - 1)


@inlined
def drift(game: Ints, place: int, speed: int, room: int) -> None:
    """Move a drifter along one axis, within `0..room`."""
    if not 0 <= game[place] + game[speed] <= room:
        game[speed] = -game[speed]
    game[place] += game[speed]


@compiled
def move(s: FrameScene, action: int, picture: Bytes) -> None:
    """Move the shape and the drifters, and draw the picture."""
    game = s.game
    game[at.ROW] = moved(game[at.ROW], UP_DOWN[action], at.ROWS)
    game[at.COLUMN] = moved(game[at.COLUMN], LEFT_RIGHT[action], at.COLUMNS)
    for drifter in range(s.n.drifters):
        me = at.DRIFTERS + drifter * at.DRIFTER_WORDS
        drift(game, me + at.DRIFTER_ROW, me + at.DOWN, at.HEIGHT - at.DRIFTER)
        drift(game, me + at.DRIFTER_COLUMN, me + at.RIGHT, at.WIDTH - at.DRIFTER)
    game[at.STEPS] += 1
    draw_picture(s, picture)


@compiled
def draw_picture(s: FrameScene, picture: Bytes) -> None:
    """Draw the picture of a state: the background of the stage, its shape and the drifters."""
    background = s.pictures[s.game[at.STAGE]]
    for byte in range(at.FRAME_BYTES):
        picture[byte] = background[byte]
    draw_shape(s, picture)
    for drifter in range(s.n.drifters):
        me = at.DRIFTERS + drifter * at.DRIFTER_WORDS
        draw_drifter(picture, s.game[me + at.DRIFTER_ROW], s.game[me + at.DRIFTER_COLUMN])


@inlined
def draw_shape(s: FrameScene, picture: Bytes) -> None:
    """Draw the shape of the stage, as far as it is in the picture; of two shades, the brighter one is seen."""
    shape = s.shapes[s.game[at.STAGE]]
    top, left = (s.game[at.ROW] - at.MARGIN) * at.CELL, s.game[at.COLUMN] - at.MARGIN
    for row in range(max(0, -top), min(at.SIDE, at.HEIGHT - top)):
        for byte in range(max(0, -left), min(at.SIDE_BYTES, at.ROW_BYTES - left)):
            place = (top + row) * at.ROW_BYTES + left + byte
            picture[place] = s.brighter[picture[place], shape[row, byte]]


@inlined
def draw_drifter(picture: Bytes, row: int, column: int) -> None:
    """Draw a drifting square in the brightest shade."""
    for y in range(row, row + at.DRIFTER):
        for x in range(column, column + at.DRIFTER):
            picture[y * at.ROW_BYTES + (x >> 2)] |= ALL_BITS << np.uint8(2 * (x & 3))
