"""A step in three kernels, as a GPU makes it: the frames are played, the last one is drawn, the step ends.

The first kernel records how lines are drawn, where the state has its last frame. The second has a thread per byte.
"""

from __future__ import annotations

from ..fields import Array
from ..native import ALL_LEGAL
from .compiled import compiled
from .kernels import begin_step, finish, is_legal, machine_of
from .layout import HALF, HIDDEN, WHY, RecordingMachine
from .lines import draw_recorded_byte
from .memory import set_word, word
from .views import views


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
    """Draw a byte of the frame."""
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
