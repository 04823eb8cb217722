"""The compiled loops over environments, which release the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from ..fields import DECIDES, Array
from ..kernel_tables import forget
from ..native import ALL_LEGAL, compiled, episode_seed, inlined, mixed
from ..packed_kernels import packed_distance
from . import layout as at
from .bus import press
from .inspector import draw_code, draw_memory, draw_registers, draw_sprites, memory_byte
from .layout import Machine
from .lines import clear_frame
from .looks import HALF_PAGE
from .memory import byte, map_banks, set_byte, set_word, word
from .processor import run
from .views import GameBoards, GameViews, views

signed = cast("Callable[[np.generic | int], int]", np.int64)

STEP_REWARD, REACHED_REWARD, CLOSER = -0.01, 1.0, 5.0 / at.FARTHEST
VALUES, STEP, NEARER, REACHED = 0, 1, 2, 3
"""Terms of the reward."""
RUNNING = 0


@compiled
def value_of(m: Machine, values: Array, index: int) -> int:
    """Return a number in memory; digits that are not decimal count as 0."""
    found, size, kind = 0, values[index, 1], values[index, 2]
    for place in range(size):
        one = memory_byte(m, (values[index, 0] + place) & 0xFFFF)
        if kind == 0:
            found |= one << (8 * min(place, 7))
        elif kind == 1:
            found = 100 * found + 10 * (one >> 4 if one >> 4 < 10 else 0) + (one & 15 if one & 15 < 10 else 0)
        else:
            found = 10 * found + (one & 15 if one < 0x80 and one & 15 < 10 else 0)
    return found


@inlined
def draw_values(m: Machine, v: GameViews, board: Array) -> None:
    """Write the numbers in memory."""
    for index in range(v.values.shape[0]):
        board[index] = value_of(m, v.values, index)


@inlined
def draw_progress(m: Machine, v: GameViews, progress: Array) -> None:
    """Write the bars: the distance as a share of the stage's first one, and the stages that were reached."""
    distance = np.float32(word(m, at.DISTANCE))
    progress[0, 0] = min(distance / np.float32(max(word(m, at.FIRST_DISTANCE), 1)), np.float32(1))
    progress[0, 1] = distance / np.float32(at.FARTHEST)
    progress[1, 0] = np.float32(word(m, at.STAGE)) / np.float32(v.numbers.goals)
    progress[1, 1] = word(m, at.STAGE)


@compiled
def draw_boards(m: Machine, v: GameViews, b: GameBoards, env: int) -> None:
    for place in range(at.FRAME_BYTES):
        b.frame[env, place] = byte(m, at.FRAME + place)
    if v.numbers.goals:
        stage = min(word(m, at.STAGE), v.numbers.goals - 1)
        for place in range(at.FRAME_BYTES):
            b.goal[env, place] = v.goals[stage, place]
        draw_progress(m, v, b.progress[env])
    draw_values(m, v, b.values[env])
    draw_registers(m, v.looks, b.registers[env])
    draw_code(m, v.looks, b.code[env])
    draw_sprites(m, v.looks, b.sprites[env])
    draw_memory(m, v.numbers.page << 8, b.memory[env])
    draw_memory(m, (v.numbers.page << 8) + HALF_PAGE, b.memory_end[env])


@inlined
def machine_of(v: GameViews, env: int, slot: int, drawn: int) -> Machine:
    """Return an environment's console, which draws into its observation of a slot."""
    n = v.numbers
    words = n.states + env * n.size
    out = n.observations + (slot * n.envs + env) * at.FRAME_BYTES
    return Machine(words, n.rom, n.tables, n.mapper, n.rom_mask, n.ram_bytes, 0x8000, out, drawn)


@inlined
def show(v: GameViews, m: Machine, slot: int, env: int) -> None:
    """Write the observation of a state and what does not depend on the step."""
    for place in range(at.FRAME_BYTES):
        v.observation[slot, env, place] = byte(m, at.FRAME + place)
    v.common.active[slot, env] = DECIDES
    v.common.episode[env] = word(m, at.EPISODES) - 1


@inlined
def write_info(v: GameViews, m: Machine, slot: int, env: int) -> None:
    v.score[slot, env] = value_of(m, v.values, 0) if v.values.shape[0] else 0
    v.stage[slot, env] = word(m, at.STAGE)
    v.distance[slot, env] = np.float32(word(m, at.DISTANCE)) / np.float32(at.FARTHEST)
    v.clock[slot, env] = word(m, at.CLOCK)


@inlined
def distance_of(v: GameViews, m: Machine, picture: Array) -> int:
    """Return the distance of a picture from the stage's goal picture; 0 if there is none."""
    if not v.numbers.goals:
        return 0
    return packed_distance(v.distances, picture, v.goals[min(word(m, at.STAGE), v.numbers.goals - 1)])


@compiled
def next_episode(v: GameViews, m: Machine, slot: int, env: int) -> None:
    """Begin an environment's next episode: copy a start state, which the episode's seed chooses."""
    run_seed, episodes = word(m, at.RUN_SEED), word(m, at.EPISODES)
    seed = mixed(episode_seed(np.uint64(run_seed), np.uint64(env), np.uint64(episodes)))
    start = v.starts[int((seed >> np.uint64(33)) % np.uint64(v.numbers.starts))]
    for index in range(start.shape[0]):
        v.ints[env, index] = start[index]
    set_word(m, at.RUN_SEED, run_seed)
    set_word(m, at.EPISODES, episodes + 1)
    show(v, m, slot, env)
    begin_stage(v, m, slot, env)
    draw_boards(m, v, v.boards, env)


@inlined
def begin_stage(v: GameViews, m: Machine, slot: int, env: int) -> None:
    """Measure the distance from the stage's goal picture."""
    distance = distance_of(v, m, v.observation[slot, env])
    set_word(m, at.DISTANCE, distance)
    set_word(m, at.FIRST_DISTANCE, distance)


@compiled
def reset_envs(table: Array, lo: int, slot: int, chosen: Array, seed: np.uint64) -> None:
    """Begin the next episode of the chosen environments and write their observations."""
    v = views(table)
    for index in range(chosen.shape[0]):
        if chosen[index]:
            env = lo + index
            m = machine_of(v, env, slot, at.HALF)
            set_word(m, at.RUN_SEED, signed(seed))
            set_word(m, at.EPISODES, v.common.episode[env] + 1)
            next_episode(v, m, slot, env)
            write_info(v, m, slot, env)
            forget(v.common, slot, env, 1)


@compiled
def play(v: GameViews, shown: Machine, hidden: Machine, buttons: int) -> int:
    """Run the frames of a step and draw the last one, white if it is not reached; return why running ended."""
    why, last = 0, v.numbers.frames - 1
    clear_frame(shown)
    for frame in range(v.numbers.frames):
        m = shown if frame == last else hidden
        if frame == 0 or frame == v.numbers.press:
            press(m, buttons if frame == 0 else 0)
        set_word(m, at.STOP, word(m, at.CLOCK) + at.FRAME_CYCLES)
        why = run(m)
        if why == at.STUCK:
            break
    return why


@inlined
def ended(v: GameViews, m: Machine, why: int) -> int:
    """Return the outcome of a step: 0, one of the game's, all goals reached, out of time, or locked."""
    count: int = v.ends.shape[0]
    for index in range(count):
        found = memory_byte(m, v.ends[index, 0])
        if v.ends[index, 1] <= found <= v.ends[index, 2]:
            value = v.ends[index, 3]
            if value < 0 or value_of(m, v.values, value) >= v.ends[index, 4]:
                return 1 + index
    if v.numbers.goals and word(m, at.STAGE) == v.numbers.goals:
        return count + 1
    if why == at.STUCK:
        return count + 3
    return count + 2 if word(m, at.STEPS) >= v.numbers.steps else RUNNING


@inlined
def advance_goal(v: GameViews, m: Machine, slot: int, env: int) -> None:
    """Write the terms of goals, and begin the next stage where a goal picture is reached."""
    before = word(m, at.DISTANCE)
    distance = distance_of(v, m, v.observation[slot, env])
    set_word(m, at.DISTANCE, distance)
    v.common.terms[slot, env, STEP] = STEP_REWARD
    v.common.terms[slot, env, NEARER] = CLOSER * (before - distance)
    if distance <= v.numbers.reach:
        v.common.terms[slot, env, REACHED] = REACHED_REWARD
        set_word(m, at.STAGE, word(m, at.STAGE) + 1)
        begin_stage(v, m, slot, env)


@inlined
def finish(v: GameViews, m: Machine, slot: int, env: int, why: int) -> None:
    """Write the results of a step, and begin a new episode if this one is over."""
    for place in range(at.FRAME_BYTES):
        set_byte(m, at.FRAME + place, v.observation[slot, env, place])
    if v.numbers.goals:
        advance_goal(v, m, slot, env)
    terms = v.common.terms[slot, env]
    reward = np.float32(terms[VALUES] + terms[STEP] + terms[NEARER] + terms[REACHED])
    v.reals[env, at.RETURN] += reward
    outcome = ended(v, m, why)
    late = outcome == v.ends.shape[0] + 2
    write_info(v, m, slot, env)
    v.common.reward[slot, env] = reward
    v.common.returns[slot, env] = v.reals[env, at.RETURN]
    v.common.length[slot, env] = word(m, at.STEPS)
    v.common.frames[slot, env] = v.numbers.frames
    v.common.outcome[slot, env] = outcome
    v.common.terminated[slot, env] = outcome != RUNNING and not late
    v.common.truncated[slot, env] = late
    v.common.heartbeat[env] += np.uint64(1)
    if outcome != RUNNING:
        end_episode(v, m, slot, env)
    else:
        draw_boards(m, v, v.boards, env)
    v.common.active[slot, env] = DECIDES


@inlined
def end_episode(v: GameViews, m: Machine, slot: int, env: int) -> None:
    """Keep the last observation and, where they are requested, the last boards; begin the next episode."""
    for place in range(at.FRAME_BYTES):
        v.final[slot % len(v.final), env, place] = v.observation[slot, env, place]
    if v.last_drawn[env]:
        draw_boards(m, v, v.last, env)
        v.last_drawn[env] = v.common.episode[env] + 1
    next_episode(v, m, slot, env)


@inlined
def values_total(v: GameViews, m: Machine) -> float:
    """Return the sum of the numbers in memory times their rewards."""
    total = 0.0
    for index in range(v.values.shape[0]):
        if v.weights[index] != 0:
            total += v.weights[index] * value_of(m, v.values, index)
    return total


@inlined
def is_legal(v: GameViews, slot: int, env: int) -> bool:
    """Return whether an environment's action is in range."""
    legal: bool = 0 <= v.common.action[slot, env] < v.numbers.actions
    return legal


@inlined
def begin_step(v: GameViews, shown: Machine, hidden: Machine, slot: int, following: int, env: int) -> int:
    """Play the frames of a step, and write what its numbers in memory are worth; return why running ended."""
    before = values_total(v, shown)
    why = play(v, shown, hidden, v.buttons[v.common.action[slot, env]])
    set_word(shown, at.STEPS, word(shown, at.STEPS) + 1)
    v.common.terms[following, env] = 0
    v.common.terms[following, env, VALUES] = values_total(v, shown) - before
    return why


@compiled
def step_envs(table: Array, lo: int, hi: int, slot: int, following: int) -> int:
    """Step every environment, or none and return the first one whose action is out of range."""
    v = views(table)
    for env in range(lo, hi):
        if not is_legal(v, slot, env):
            return env
    for env in range(lo, hi):
        m = machine_of(v, env, following, at.HALF)
        why = begin_step(v, m, machine_of(v, env, following, at.HIDDEN), slot, following, env)
        finish(v, m, following, env, why)
    return ALL_LEGAL


@compiled
def show_envs(table: Array, lo: int, hi: int, slot: int) -> None:
    """Write the observations, numbers and boards of states, including restored ones."""
    v = views(table)
    for env in range(lo, hi):
        m = machine_of(v, env, slot, at.HALF)
        map_banks(m)
        show(v, m, slot, env)
        write_info(v, m, slot, env)
        draw_boards(m, v, v.boards, env)
