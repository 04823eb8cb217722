"""Draws the boards of an environment."""

from __future__ import annotations

import numpy as np

from ..fields import Array
from .compiled import compiled, inlined
from .inspector import draw_code, draw_memory, draw_registers, draw_sprites, memory_byte
from .layout import DISTANCE, FARTHEST, FIRST_DISTANCE, FRAME, FRAME_BYTES, STAGE, Machine
from .looks import HALF_PAGE
from .memory import byte, word
from .views import GameBoards, GameViews


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
    distance = np.float32(word(m, DISTANCE))
    progress[0, 0] = min(distance / np.float32(max(word(m, FIRST_DISTANCE), 1)), np.float32(1))
    progress[0, 1] = distance / np.float32(FARTHEST)
    progress[1, 0] = np.float32(word(m, STAGE)) / np.float32(v.numbers.goals)
    progress[1, 1] = word(m, STAGE)


@compiled
def draw_boards(m: Machine, v: GameViews, b: GameBoards, env: int) -> None:
    """Draw all boards."""
    for place in range(FRAME_BYTES):
        b.frame[env, place] = byte(m, FRAME + place)
    if v.numbers.goals:
        stage = min(word(m, STAGE), v.numbers.goals - 1)
        for place in range(FRAME_BYTES):
            b.goal[env, place] = v.goals[stage, place]
        draw_progress(m, v, b.progress[env])
    draw_values(m, v, b.values[env])
    draw_registers(m, v.looks, b.registers[env])
    draw_code(m, v.looks, b.code[env])
    draw_sprites(m, v.looks, b.sprites[env])
    draw_memory(m, v.numbers.page << 8, b.memory[env])
    draw_memory(m, (v.numbers.page << 8) + HALF_PAGE, b.memory_end[env])
