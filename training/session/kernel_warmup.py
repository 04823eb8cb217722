"""Starts a session's workers, which compile or load the task's kernels while the session loads everything else.

So the session itself need not load the compiler, and the environments stand soon after the policy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from ...backends import usable_cores
from ...backends.workers.spares import SpareWorkers
from ...envs import Task
from ..config import Config

PATIENCE = 0.1  # s between two looks
WITHOUT_WORKERS = {"inline", "threads"}


class KernelWarmup:
    """The kernels of `task`, on their way in as many workers as will step; nothing where there are none.

    At its end, the workers that nobody took are let go.
    """

    def __init__(self, task: Task, config: Config, num_envs: int) -> None:
        alone = config.backend in WITHOUT_WORKERS
        count = 1 if alone else min(config.workers or usable_cores(), num_envs)
        self._reserve = SpareWorkers(task.kernels, count) if task.kernels else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._reserve is not None:
            self._reserve.close()

    def wait(self, waiting: Callable[[], None]) -> None:
        """Return when the kernels are there; `waiting` is called now and then, and may raise to give up.

        What goes wrong here goes wrong again in the workers, when it is told.
        """
        while self._reserve is not None and not self._reserve.loaded(PATIENCE):
            waiting()
