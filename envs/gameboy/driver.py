"""Environments `lo..hi` of the buffers, stepped by the compiled kernels."""

from __future__ import annotations

from ..driver import KernelPhase, Kernels, NativeEnvironments, NativeGame, compile_kernels
from .kernels import reset_envs, show_envs, step_envs
from .layout import EPISODES, FRAME_BYTES
from .phases import draw_frame, end_step, play_frames
from .states import possible
from .views import NAME, TABLE, views_of


class GameBoyEnvironments(NativeEnvironments):
    """Environments `lo..hi` of a game of the Game Boy."""

    game = NativeGame(
        TABLE, views_of, EPISODES, lambda views, states: possible(views.numbers.goals, views.numbers.steps, states)
    )
    kernels = Kernels(
        reset_envs,
        step_envs,
        show_envs,
        phases=(KernelPhase(play_frames), KernelPhase(draw_frame, FRAME_BYTES), KernelPhase(end_step)),
    )


def compile_all() -> None:
    """Compile every kernel, or load it from the cache on disk; all games have the same kernels."""
    compile_kernels(NAME)
