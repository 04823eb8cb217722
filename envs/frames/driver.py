"""Environments `lo..hi` of the buffers, stepped by the compiled kernels."""

from __future__ import annotations

from functools import partial

from ..driver import Kernels, NativeEnvironments, compile_kernels
from ..fields import Buffers
from ..registry import find
from ..task import Task
from .kernels import reset_envs, show_envs, step_envs
from .layout import EPISODES, NAME
from .states import possible
from .views import TABLE, views_of

KERNELS = Kernels(reset_envs, step_envs, show_envs)


class FrameEnvironments(NativeEnvironments):
    """Environments `lo..hi` of `frames`."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self._views = views_of(task, buffers)
        super().__init__(
            task,
            lo,
            hi,
            buffers,
            seed,
            kernels=KERNELS,
            table=TABLE.pack(self._views),
            episodes=EPISODES,
            possible=partial(possible, self._views.numbers),
        )


def compile_all() -> None:
    """Compile every kernel, or load it from the cache on disk."""
    compile_kernels(find(NAME))
