"""The compiled loops over environments, which release the GIL."""

from __future__ import annotations

import numpy as np

from ..fields import DECIDES, Array
from ..kernel_tables import forget
from ..native import ALL_LEGAL, compiled, episode_seed, inlined
from . import layout as at
from .layout import Bytes
from .rules import begin, begin_stage, distance_to_goal, draw_picture, move
from .views import FrameBoards, FrameScene, FrameViews, views

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
    """Copy a picture."""
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
    """Write the info fields."""
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
    """Write the reward of a step and its terms."""
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
