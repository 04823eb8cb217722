"""Environments `lo..hi` of the buffers, stepped by the compiled kernels."""

from __future__ import annotations

from ..driver import Kernels, NativeEnvironments, NativeGame, compile_kernels
from .kernels import reset_envs, show_envs, step_envs
from .layout import EPISODES, TREASURE
from .states import possible
from .views import TABLE, views_of


class GridEnvironments(NativeEnvironments):
    """Environments `lo..hi` of a game on a grid."""

    game = NativeGame(TABLE, views_of, EPISODES, lambda views, states: possible(views.grid, states))
    kernels = Kernels(reset_envs, step_envs, show_envs)


def compile_all() -> None:
    """Compile every kernel, or load it from the cache on disk; all games have the same kernels."""
    compile_kernels(TREASURE)
