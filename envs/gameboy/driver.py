"""Environments `lo..hi` of the buffers, stepped by the compiled kernels."""

from __future__ import annotations

from functools import partial

from ..driver import Kernels, NativeEnvironments, compile_kernels
from ..fields import Buffers
from ..registry import find
from ..task import Task
from .kernels import reset_envs, show_envs, step_envs
from .layout import EPISODES
from .states import possible
from .views import NAME, TABLE, views_of

KERNELS = Kernels(reset_envs, step_envs, show_envs)


class GameBoyEnvironments(NativeEnvironments):
    """Environments `lo..hi` of a game of the Game Boy."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self._views = views_of(task, buffers)
        numbers = self._views.numbers
        super().__init__(
            task,
            lo,
            hi,
            buffers,
            seed,
            kernels=KERNELS,
            table=TABLE.pack(self._views),
            episodes=EPISODES,
            possible=partial(possible, numbers.goals, numbers.steps),
        )


def compile_all() -> None:
    """Compile every kernel, or load it from the cache on disk; all games have the same kernels."""
    compile_kernels(find(NAME))
