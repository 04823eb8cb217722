"""Games `lo..hi` of the buffers, stepped by the compiled kernels."""

from __future__ import annotations

from ..driver import KernelPhase, Kernels, NativeEnvironments, NativeGame, compile_kernels
from ..fields import Buffers
from ..task import Task
from .kernels import reset_envs, show_envs, step_envs
from .layout import EPISODES, MOST_FIGHTS
from .phases import end, play, run_all, run_one
from .states import possible
from .views import TABLE, views_of


class AutochessEnvironments(NativeEnvironments):
    """Games `lo..hi` of `autochess`."""

    game = NativeGame(TABLE, views_of, EPISODES, lambda _, states: possible(states))
    kernels = Kernels(
        reset_envs, step_envs, show_envs, phases=(KernelPhase(play), KernelPhase(run_all), KernelPhase(end))
    )

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        super().__init__(task, lo, hi, buffers, seed)
        if task.values["combat"] == "device":
            self.kernels = self.kernels._replace(
                phases=(KernelPhase(play), KernelPhase(run_one, MOST_FIGHTS), KernelPhase(end))
            )


def compile_all() -> None:
    """Compile every kernel, or load it from the cache on disk."""
    compile_kernels("autochess")
