"""Hands `lo..hi` of the buffers, stepped by the compiled kernels."""

from __future__ import annotations

from ..driver import Kernels, NativeEnvironments, NativeGame, compile_kernels
from .families import FAMILIES
from .kernels import reset_envs, show_envs, step_envs
from .layout import EPISODES
from .states import possible
from .views import TABLE, views_of


class PokerEnvironments(NativeEnvironments):
    """Hands `lo..hi` of a game of this folder."""

    game = NativeGame(TABLE, views_of, EPISODES, lambda views, states: possible(views.game, views.dimensions, states))
    kernels = Kernels(reset_envs, step_envs, show_envs)


def compile_all() -> None:
    """Compile every kernel, or load it from the cache on disk; all games have the same kernels."""
    compile_kernels(next(iter(FAMILIES)))
