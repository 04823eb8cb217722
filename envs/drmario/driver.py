"""Environments `lo..hi` of the buffers, stepped by the compiled kernels."""

from __future__ import annotations

from ..driver import Kernels, NativeEnvironments, NativeGame, compile_kernels
from ..fields import Buffers
from ..task import Task
from .kernels import reset_envs, show_envs, step_frames, step_placements
from .layout import EPISODES
from .states import possible
from .task import TASKS
from .views import TABLE, views_of


class BottleEnvironments(NativeEnvironments):
    """Environments `lo..hi` of `drmario` or `drmario-frames`."""

    game = NativeGame(TABLE, views_of, EPISODES, lambda _, states: possible(states))

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        super().__init__(task, lo, hi, buffers, seed)
        self.kernels = Kernels(reset_envs, step_placements if task.masked else step_frames, show_envs)


def compile_all() -> None:
    """Compile every kernel, or load it from the cache on disk."""
    for family in TASKS:
        compile_kernels(family.name)
