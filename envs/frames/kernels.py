"""The rules of a step, and the compiled loops over environments, which release the GIL.

An episode has stages. In each of them the agent steers a shape, one step up, right, down or left, until the picture is
nearly the stage's goal picture, in which the shape has its place. Then the shape stays, and the next one begins at a
random place. Squares drift through the picture in straight lines, and turn around at its edges. They are in no goal
picture, so the distance is rarely 0.

The distance of two pictures is the sum of the differences of their pixels' shades.
"""

from __future__ import annotations

import numpy as np

from ..fields import DECIDES, Array
from ..kernel_tables import forget
from ..native import ALL_LEGAL, below, compiled, episode_seed, inlined
from ..packed_kernels import packed_distance
from . import layout as at
from .layout import Bytes, Ints
from .views import FrameBoards, FrameScene, FrameViews, views

UP_DOWN = np.array([-1, 0, 1, 0, 0])
LEFT_RIGHT = np.array([0, 1, 0, -1, 0])
SPEEDS = np.array(at.SPEEDS)
ALL_BITS = np.uint8(3)


@compiled
def begin(s: FrameScene, seed: np.uint64, picture: Bytes) -> None:
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


ACTIONS = len(at.ACTION_NAMES)
STEP_REWARD = np.float32(-0.01)
REACHED_REWARD = np.float32(1)
CLOSER = np.float32(5 / at.FARTHEST)
"""Reward for a distance that is smaller by 1."""
SHARE = np.float32(1 / at.FARTHEST)


@inlined
def scene_of(v: FrameViews, env: int) -> FrameScene:
    """Return one environment."""
    return FrameScene(v.numbers, v.ints[env], v.reals[env], v.pictures, v.shapes, v.goals, v.distances, v.brighter)


@inlined
def copy_bytes(source: Bytes, into: Bytes) -> None:
    for byte in range(at.FRAME_BYTES):
        into[byte] = source[byte]


@inlined
def write_progress(s: FrameScene, progress: Array) -> None:
    """Write the bars of the distance, relative to the first one of the stage, and of the stages reached."""
    game = s.game
    progress[0, 0] = np.float32(game[at.DISTANCE]) / np.float32(max(game[at.FIRST], 1))
    progress[0, 1] = np.float32(game[at.DISTANCE]) * SHARE
    progress[1, 0] = np.float32(game[at.STAGE]) / np.float32(s.n.shapes)
    progress[1, 1] = game[at.STAGE]


@inlined
def draw_goal(s: FrameScene, b: FrameBoards, env: int) -> None:
    """Draw the goal picture of the stage; after the last one, its goal."""
    copy_bytes(s.pictures[min(s.game[at.STAGE], s.n.shapes - 1) + 1], b.goal[env])


@inlined
def show(v: FrameViews, s: FrameScene, slot: int, env: int) -> None:
    """Draw the boards of a state whose observation is written, and write what does not depend on the step."""
    copy_bytes(v.observation[slot, env], v.boards.frame[env])
    write_progress(s, v.boards.progress[env])
    v.common.active[slot, env] = DECIDES
    v.common.episode[env] = s.game[at.EPISODES] - 1


@inlined
def write_info(v: FrameViews, s: FrameScene, slot: int, env: int) -> None:
    v.distance[slot, env] = np.float32(s.game[at.DISTANCE]) * SHARE
    v.stage[slot, env] = s.game[at.STAGE]


@compiled
def next_episode(v: FrameViews, s: FrameScene, slot: int, env: int) -> None:
    """Begin an environment's next episode, with its observation and its goal picture."""
    seed = episode_seed(np.uint64(s.game[at.RUN_SEED]), np.uint64(env), np.uint64(s.game[at.EPISODES]))
    s.game[at.EPISODES] += 1
    begin(s, seed, v.observation[slot, env])
    draw_goal(s, v.boards, env)


@compiled
def reset_envs(table: Array, lo: int, slot: int, chosen: Array, seed: np.uint64) -> None:
    """Begin the next episode of the chosen environments and write their observations."""
    v = views(table)
    for index in range(chosen.shape[0]):
        if chosen[index]:
            env = lo + index
            s = scene_of(v, env)
            v.words[env, at.RUN_SEED], s.game[at.EPISODES] = seed, v.common.episode[env] + 1
            next_episode(v, s, slot, env)
            write_info(v, s, slot, env)
            show(v, s, slot, env)
            forget(v.common, slot, env, 1)


@inlined
def write_rewards(v: FrameViews, s: FrameScene, slot: int, env: int, before: int, reached: bool) -> None:
    closer = np.float32(before - s.game[at.DISTANCE]) * CLOSER
    bonus = REACHED_REWARD if reached else np.float32(0)
    reward = STEP_REWARD + closer + bonus
    s.reals[2 * at.RETURN] += reward
    v.common.terms[slot, env, 0] = STEP_REWARD
    v.common.terms[slot, env, 1] = closer
    v.common.terms[slot, env, 2] = bonus
    v.common.reward[slot, env] = reward
    v.common.returns[slot, env] = s.reals[2 * at.RETURN]


@inlined
def finish(v: FrameViews, s: FrameScene, slot: int, env: int, before: int) -> None:
    """Write the results of a step, given the distance before it; begin a new stage or episode if one is over."""
    game, picture = s.game, v.observation[slot, env]
    game[at.DISTANCE] = distance_to_goal(s, picture)
    reached = game[at.DISTANCE] <= s.n.reach
    write_rewards(v, s, slot, env, before, reached)
    if reached:
        game[at.STAGE] += 1
    matched = game[at.STAGE] == s.n.shapes
    late = not matched and game[at.STEPS] >= s.n.steps
    if reached and not matched and not late:
        begin_stage(s, picture)
        draw_goal(s, v.boards, env)
    write_info(v, s, slot, env)
    v.common.length[slot, env] = game[at.STEPS]
    v.common.frames[slot, env] = 1
    v.common.outcome[slot, env] = at.MATCHED if matched else at.OUT_OF_TIME if late else at.RUNNING
    v.common.terminated[slot, env] = matched
    v.common.truncated[slot, env] = late
    v.common.heartbeat[env] += np.uint64(1)
    if matched or late:
        end_episode(v, s, slot, env)
    show(v, s, slot, env)


@compiled
def end_episode(v: FrameViews, s: FrameScene, slot: int, env: int) -> None:
    """Keep the last observation and, where they are requested, the last boards; begin the next episode."""
    picture = v.observation[slot, env]
    copy_bytes(picture, v.final[slot % len(v.final), env])
    if v.last_drawn[env]:
        copy_bytes(picture, v.last.frame[env])
        draw_goal(s, v.last, env)
        write_progress(s, v.last.progress[env])
        v.last_drawn[env] = v.common.episode[env] + 1
    next_episode(v, s, slot, env)


@compiled
def step_envs(table: Array, lo: int, hi: int, slot: int, following: int) -> int:
    """Step every environment, or none and return the first one whose action is out of range."""
    v = views(table)
    for env in range(lo, hi):
        if not 0 <= v.common.action[slot, env] < ACTIONS:
            return env
    for env in range(lo, hi):
        s = scene_of(v, env)
        before = s.game[at.DISTANCE]
        move(s, v.common.action[slot, env], v.observation[following, env])
        finish(v, s, following, env, before)
    return ALL_LEGAL


@compiled
def show_envs(table: Array, lo: int, hi: int, slot: int) -> None:
    """Write the observations, numbers and boards of states, including restored ones."""
    v = views(table)
    for env in range(lo, hi):
        s = scene_of(v, env)
        draw_picture(s, v.observation[slot, env])
        draw_goal(s, v.boards, env)
        write_info(v, s, slot, env)
        show(v, s, slot, env)
