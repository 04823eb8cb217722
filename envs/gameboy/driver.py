"""Environments `lo..hi` of the buffers, stepped by the compiled kernels.

A GPU makes a step in three kernels: the frames are played, the last one is drawn, the step ends. The first kernel
records how lines are drawn, where the state has its last frame. The second has a thread per byte.
"""

from __future__ import annotations

from ..driver import KernelPhase, Kernels, NativeGame
from ..fields import Array
from ..native import ALL_LEGAL, compiled
from .kernels import begin_step, finish, is_legal, machine_of, reset_envs, show_envs, step_envs
from .layout import EPISODES, FRAME_BYTES, HALF, HIDDEN, WHY, RecordingMachine
from .lines import draw_recorded_byte
from .memory import set_word, word
from .snapshots import possible
from .views import NAME, TABLE, views, views_of


@compiled
def play_frames(table: Array, env: int, _part: int, slot: int, following: int) -> int:
    """Play the frames of a console whose action is legal, and record the lines of the last one; else return the row."""
    v = views(table)
    if not is_legal(v, slot, env):
        return env
    m = RecordingMachine(*machine_of(v, env, following, HALF))
    why = begin_step(v, m, RecordingMachine(*machine_of(v, env, following, HIDDEN)), slot, following, env)
    set_word(m, WHY, why)
    return ALL_LEGAL


@compiled
def draw_frame(table: Array, env: int, part: int, slot: int, following: int) -> int:
    v = views(table)
    if is_legal(v, slot, env):
        draw_recorded_byte(machine_of(v, env, following, HALF), part)
    return ALL_LEGAL


@compiled
def end_step(table: Array, env: int, _part: int, slot: int, following: int) -> int:
    """Write the results of the step."""
    v = views(table)
    if is_legal(v, slot, env):
        m = machine_of(v, env, following, HALF)
        finish(v, m, following, env, word(m, WHY))
    return ALL_LEGAL


PHASES = (KernelPhase(play_frames), KernelPhase(draw_frame, FRAME_BYTES), KernelPhase(end_step))
KERNELS = Kernels(reset_envs, step_envs, show_envs, PHASES)
GAME = NativeGame(
    TABLE,
    views_of,
    EPISODES,
    lambda _: KERNELS,
    lambda v, states: possible(v.numbers.goals, v.numbers.steps, states),
    (NAME,),
)
