"""Environments `lo..hi` of the buffers, stepped by the compiled kernels."""

from __future__ import annotations

from ..driver import Kernels, NativeEnvironments, compile_kernels
from ..fields import Buffers
from ..registry import find
from ..task import Task
from .kernels import reset_envs, show_envs, step_frames, step_placements
from .layout import EPISODES
from .states import possible
from .task import TASKS
from .views import TABLE, views_of

BY_FRAME = Kernels(reset_envs, step_frames, show_envs)
BY_PLACEMENT = Kernels(reset_envs, step_placements, show_envs)


class BottleEnvironments(NativeEnvironments):
    """Environments `lo..hi` of `drmario` or `drmario-frames`."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self._views = views_of(task, buffers)
        table = TABLE.pack(self._views)
        kernels = BY_PLACEMENT if task.masked else BY_FRAME
        super().__init__(
            task, lo, hi, buffers, seed, kernels=kernels, table=table, episodes=EPISODES, possible=possible
        )


def compile_all() -> None:
    """Compile every kernel, or load it from the cache on disk."""
    for family in TASKS:
        compile_kernels(find(family.name))
